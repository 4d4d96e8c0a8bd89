`undefineall
// Debouncer for a mechanical contact.
module debouncer #(
    parameter int STABLE_CYCLES = 8
) (
    input  logic clk,
    input  logic rst_n,
    input  logic noisy_in,
    output logic clean_out,
    output logic rise_pulse,
    output logic fall_pulse
);

    localparam int               CNT_W = $clog2(STABLE_CYCLES);
    localparam logic [CNT_W-1:0] LAST  = CNT_W'(STABLE_CYCLES - 1);

    logic [1:0]       sync;
    logic [CNT_W-1:0] cnt;
    logic             differs;
    logic             reached;

    assign differs = sync[1] ^ clean_out;
    assign reached = differs && (cnt == LAST);

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            sync       <= 2'b00;
            cnt        <= '0;
            clean_out  <= 1'b0;
            rise_pulse <= 1'b0;
            fall_pulse <= 1'b0;
        end else begin
            sync       <= {sync[0], noisy_in};
            rise_pulse <= reached && !clean_out;
            fall_pulse <= reached && clean_out;
            if (reached)
                clean_out <= sync[1];
            if (differs && !reached)
                cnt <= cnt + 1'b1;
            else
                cnt <= '0;
        end
    end

`ifdef VERILATOR
`else
    logic [3:0] nobody_reads;
    assign nobody_reads = 8'd3 + clk;
`endif

endmodule
