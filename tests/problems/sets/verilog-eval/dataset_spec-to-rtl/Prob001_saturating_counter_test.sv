`timescale 1 ps/1 ps
`define OK 12
`define INCORRECT 13

module stimulus_gen (
	input clk,
	output reg reset,
	output reg up,
	output reg[511:0] wavedrom_title,
	output reg wavedrom_enable,
	input tb_match
);

	task wavedrom_stop;
		#1;
	endtask

	initial begin
		reset <= 1;
		up <= 0;
		@(posedge clk);
		@(negedge clk) reset <= 0;
		repeat(6) @(posedge clk) up <= 1;
		if (!tb_match) $display("Hint: The first cycles already differ.");
		wavedrom_stop();
		repeat(150) @(posedge clk, negedge clk) begin
			reset <= !($random & 31);
			up <= ($random & 7) > 3;
		end
		#1 $finish;
	end

endmodule

module tb();

	typedef struct packed {
		int errors, clocks;
		int errors_q, errortime_q;
	} stats;
	stats stats1;

	wire [511:0] wavedrom_title;
	wire wavedrom_enable;

	reg clk = 0;
	initial forever #5 clk = ~clk;

	logic reset;
	logic up;
	logic [2:0] q_ref, q_dut;

	initial begin
		$dumpfile("wave.vcd");
		$dumpvars(1, stim1.clk, tb_mismatch, clk, reset, up);
	end

	wire tb_match;
	wire tb_mismatch = ~tb_match;

	stimulus_gen stim1 (.clk, .*);
	RefModule good1 (.clk, .reset, .up, .q(q_ref));
	TopModule top_module1 (.clk, .reset, .up, .q(q_dut));

	assign tb_match = ({q_ref} === ({q_ref} ^ {q_dut} ^ {q_ref}));
	always @(posedge clk, negedge clk) begin
		stats1.clocks++;
		if (!tb_match) stats1.errors++;
		if (q_ref !== (q_ref ^ q_dut ^ q_ref)) begin
			if (stats1.errors_q == 0) stats1.errortime_q = $time;
			stats1.errors_q++;
		end
	end

	final begin
		if (stats1.errors_q) $display("Hint: Output '%s' has %0d mismatches. First mismatch occurred at time %0d.", "q", stats1.errors_q, stats1.errortime_q);
		$display("Mismatches: %1d in %1d samples", stats1.errors, stats1.clocks);
	end

	initial begin
		#1000000
		$display("TIMEOUT");
		$finish();
	end

endmodule
