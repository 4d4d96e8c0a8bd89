module verified_multi_serial #(parameter size = 4) (
    input clk, rst, start,
    input [size-1:0] a, b,
    output reg done,
    output reg [2*size-1:0] product
);
    reg [2*size-1:0] x;
    reg [size-1:0] y;
    reg busy;
    always @(posedge clk or posedge rst)
        if (rst) begin
            done <= 0;
            busy <= 0;
            product <= 0;
        end else if (start) begin
            {done, busy, product, x, y} <= {1'b0, 1'b1, {2*size{1'b0}}, {size{1'b0}}, a, b};
        end else if (busy) begin
            if (y == 0) {done, busy} <= 2'b10;
            if (y[0]) product <= product + x;
            x <= x << 1;
            y <= y >> 1;
        end
endmodule
