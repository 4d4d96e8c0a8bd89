`timescale 1 ps/1 ps
`define OK 12
`define INCORRECT 13

module stimulus_gen (
	input clk,
	output logic [4:0] in
);

	initial begin
		repeat(80) @(posedge clk, negedge clk)
			in <= $random;
		$finish;
	end

endmodule

module tb();

	typedef struct packed {
		int errors, clocks;
		int errors_most, errortime_most;
		int errors_all, errortime_all;
	} stats;
	stats stats1;

	wire [511:0] wavedrom_title;
	wire wavedrom_enable;

	reg clk = 0;
	initial forever #5 clk = ~clk;

	logic [4:0] in;
	logic most_ref, most_dut;
	logic all_ref, all_dut;

	initial begin
		$dumpfile("wave.vcd");
		$dumpvars(1, stim1.clk, tb_mismatch, in);
	end

	wire tb_match;
	wire tb_mismatch = ~tb_match;

	stimulus_gen stim1 (.clk, .*);
	RefModule good1 (.in, .most(most_ref), .all(all_ref));
	TopModule top_module1 (.in, .most(most_dut), .all(all_dut));

	assign tb_match = ({most_ref, all_ref} === ({most_ref, all_ref} ^ {most_dut, all_dut} ^ {most_ref, all_ref}));
	always @(posedge clk, negedge clk) begin
		stats1.clocks++;
		if (!tb_match) stats1.errors++;
		if (most_ref !== (most_ref ^ most_dut ^ most_ref)) begin
			if (stats1.errors_most == 0) stats1.errortime_most = $time;
			stats1.errors_most++;
		end
		if (all_ref !== (all_ref ^ all_dut ^ all_ref)) begin
			if (stats1.errors_all == 0) stats1.errortime_all = $time;
			stats1.errors_all++;
		end
	end

	final begin
		if (stats1.errors_most) $display("Hint: Output '%s' has %0d mismatches. First mismatch occurred at time %0d.", "most", stats1.errors_most, stats1.errortime_most);
		if (stats1.errors_all) $display("Hint: Output '%s' has %0d mismatches. First mismatch occurred at time %0d.", "all", stats1.errors_all, stats1.errortime_all);
		$display("Mismatches: %1d in %1d samples", stats1.errors, stats1.clocks);
	end

	initial begin
		#1000000
		$display("TIMEOUT");
		$finish();
	end

endmodule
