`timescale 1ps/1ps
module TopModule (
    input clk,
    input reset,
    input up,
    output reg [2:0] q
);
    always @(posedge clk)
        if (reset) q <= 3;
        else if (up && q != 7) q <= q + 1;
        else if (!up && q != 0) q <= q - 1;
    initial #300 $finish;
endmodule
