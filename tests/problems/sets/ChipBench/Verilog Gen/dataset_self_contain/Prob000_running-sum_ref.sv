`timescale 1ns/1ns

module RefModule(
	input clk, rst_n, valid,
	input [3:0] data,
	output empty,
	output reg [3:0] sum
);
assign empty = sum == 0;

always @(posedge clk or negedge rst_n)
	if (!rst_n) sum <= 0;
	else if (valid) sum <= sum + data;
endmodule
