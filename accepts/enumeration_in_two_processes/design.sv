module sequence_detector (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       bit_valid,
    input  logic       bit_in,
    output logic       detected,
    output logic [3:0] match_count
);

    typedef enum logic [2:0] {NONE, S1, S2, S3, S4, S5} state_t;
    state_t state, following;

    always_comb begin
        following = state;
        if (bit_valid)
            case (state)
                NONE: if (bit_in) following = S1;
                S1:   if (!bit_in) following = S2;
                S2:   if (bit_in) following = S3; else following = NONE;
                S3:   if (bit_in) following = S4; else following = S2;
                S4:   if (bit_in) following = S1; else following = S5;
                S5:   if (bit_in) following = S3; else following = NONE;
                default: following = NONE;
            endcase
    end

    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) state <= NONE;
        else        state <= following;

    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            detected    <= 1'b0;
            match_count <= 4'd0;
        end else begin
            detected <= bit_valid && bit_in && state == S5;
            if (bit_valid && bit_in && state == S5 && match_count != 4'd15) match_count <= match_count + 4'd1;
        end
endmodule
