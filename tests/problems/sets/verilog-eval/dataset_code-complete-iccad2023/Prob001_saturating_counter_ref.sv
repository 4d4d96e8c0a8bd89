
module RefModule (
  input clk,
  input reset,
  input up,
  output reg [2:0] q
);

  always @(posedge clk)
    if (reset) q <= 3;
    else if (up) q <= q == 7 ? 7 : q + 1;
    else q <= q == 0 ? 0 : q - 1;

endmodule
