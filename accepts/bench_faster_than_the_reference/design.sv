module multi_serial #(parameter size = 4) (
    input clk, rst, start, input [size-1:0] a, b, output reg done, output reg [2*size-1:0] product
);
    always @(posedge clk or posedge rst)
        if (rst) done <= 0;
        else if (start) {done, product} <= {1'b1, {2*size{1'b0}} + a * b};
endmodule
