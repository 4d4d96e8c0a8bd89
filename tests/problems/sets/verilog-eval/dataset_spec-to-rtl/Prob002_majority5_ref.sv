
module RefModule (
  input [4:0] in,
  output most,
  output all
);

  assign most = in[0] + in[1] + in[2] + in[3] + in[4] > 3'd2;
  assign all = &in;

endmodule
