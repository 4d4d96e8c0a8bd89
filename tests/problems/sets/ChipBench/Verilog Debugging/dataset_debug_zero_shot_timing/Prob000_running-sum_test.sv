`timescale 1 ps/1 ps
`define OK 12
`define INCORRECT 13

module stimulus_gen (
	input clk,
	output logic rst_n,
	output logic valid,
	output logic [3:0] data
);

	initial begin
		rst_n = 0;
		valid = 0;
		data = 0;
		repeat(3) @(posedge clk);
		rst_n = 1;
		@(posedge clk);
		valid = 1;
		data = 4'd5; @(posedge clk);
		data = 4'd9; @(posedge clk);
		valid = 0;
		data = 4'd1; @(posedge clk);
		repeat(100) @(posedge clk or negedge clk) begin
			valid <= $random;
			data <= $random;
		end
		#1 $finish;
	end

endmodule

module tb();

	typedef struct packed {
		int errors, clocks;
		int errors_empty, errortime_empty;
		int errors_sum, errortime_sum;
	} stats;
	stats stats1;

	wire [511:0] wavedrom_title;
	wire wavedrom_enable;

	reg clk = 0;
	initial forever #5 clk = ~clk;

	logic rst_n;
	logic valid;
	logic [3:0] data;
	logic empty_ref, empty_dut;
	logic [3:0] sum_ref, sum_dut;

	initial begin
		$dumpfile("wave.vcd");
		$dumpvars(1, stim1.clk, tb_mismatch, clk, rst_n, valid, data);
	end

	wire tb_match;
	wire tb_mismatch = ~tb_match;

	stimulus_gen stim1 (.clk, .rst_n, .valid, .data);
	RefModule good1 (.clk, .rst_n, .valid, .data, .empty(empty_ref), .sum(sum_ref));
	TopModule top_module1 (.clk, .rst_n, .valid, .data, .empty(empty_dut), .sum(sum_dut));

	assign tb_match = ({empty_ref, sum_ref} === ({empty_ref, sum_ref} ^ {empty_dut, sum_dut} ^ {empty_ref, sum_ref}));
	always @(posedge clk, negedge clk) begin
		stats1.clocks++;
		if (!tb_match) stats1.errors++;
		if (empty_ref !== (empty_ref ^ empty_dut ^ empty_ref)) begin
			if (stats1.errors_empty == 0) stats1.errortime_empty = $time;
			stats1.errors_empty++;
		end
		if (sum_ref !== (sum_ref ^ sum_dut ^ sum_ref)) begin
			if (stats1.errors_sum == 0) stats1.errortime_sum = $time;
			stats1.errors_sum++;
		end
	end

	final begin
		if (stats1.errors_empty) $display("Hint: Output '%s' has %0d mismatches. First mismatch occurred at time %0d.", "empty", stats1.errors_empty, stats1.errortime_empty);
		if (stats1.errors_sum) $display("Hint: Output '%s' has %0d mismatches. First mismatch occurred at time %0d.", "sum", stats1.errors_sum, stats1.errortime_sum);
		$display("Mismatches: %1d in %1d samples", stats1.errors, stats1.clocks);
	end

	initial begin
		#1000000
		$display("TIMEOUT");
		$finish();
	end

endmodule
