// near miss: the original with its warnings switched off by a comment instead of repaired
/* verilator lint_off WIDTH */
/* verilator lint_off UNUSED */
/* verilator lint_off UNDRIVEN */
/* verilator lint_off CASEINCOMPLETE */
/* verilator lint_off BLKSEQ */
// Debouncer for a mechanical contact.
module debouncer #(
    parameter STABLE_CYCLES = 8
) (
    input            clk,
    input            rst_n,
    input            noisy_in,
    output reg       clean_out,
    output reg       rise_pulse,
    output reg       fall_pulse
);

    localparam CNT_W       = $clog2(STABLE_CYCLES);
    localparam MAX_BOUNCES = 255;

    reg  [3:0]       sync;
    reg  [CNT_W-1:0] cnt;
    reg  [7:0]       bounces;
    reg              reached;
    reg  [1:0]       action;
    wire             differs;
    wire             debug_tap;

    assign differs = sync[1] ^ clean_out;

    always @(posedge clk or negedge rst_n) begin
        if (!rst_n)
            sync <= 0;
        else
            sync <= {sync, noisy_in};
    end

    always @(*) begin
        action = 2'd0;
        case ({differs, cnt == STABLE_CYCLES - 1})
            2'b10: action = 2'd1;
            2'b11: action = 2'd2;
        endcase
    end

    always @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            cnt        <= 0;
            clean_out  <= 0;
            rise_pulse <= 0;
            fall_pulse <= 0;
            bounces    <= 0;
        end else begin
            reached    = action[1];
            rise_pulse <= reached & ~clean_out;
            fall_pulse <= reached & clean_out;
            if (reached)
                clean_out <= {1'b0, sync[1]};
            cnt <= (action == 1) ? cnt + 1'b1 : {(CNT_W + 1){1'b0}};
            if (!differs && cnt != 0)
                bounces <= bounces + 1'b1;
        end
    end

endmodule
