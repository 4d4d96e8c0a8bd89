`timescale 1ps/1ps
module TopModule (
    input clk,
    input reset,
    input up,
    output reg [2:0] q
);
    initial q = 0;
    always #0 q = ~q;
endmodule
