module multi_serial #(parameter size = 4) (
    input clk, rst, start, input [size-1:0] a, b, output reg done, output reg [2*size-1:0] product
);
    reg [3:0] left;
    reg [2*size-1:0] result;
    always @(posedge clk or posedge rst)
        if (rst) begin
            done <= 0;
            left <= 0;
        end else if (start) begin
            done <= 0;
            left <= 9;
            result <= a * b;
        end else if (left != 0) begin
            left <= left - 1;
            if (left == 1) begin
                done <= 1;
                product <= result;
            end
        end
endmodule
