// near miss: the repair broke another transition: a 1 after 1011 throws away the prefix 1
// Finds 101101 in a serial stream, overlapping matches included.
module sequence_detector (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       bit_valid,
    input  logic       bit_in,
    output logic       detected,
    output logic [3:0] match_count
);

    // Each state is named after the part of the pattern that the stream ends with.
    localparam [2:0] S_NONE  = 3'd0;
    localparam [2:0] S_1     = 3'd1;
    localparam [2:0] S_10    = 3'd2;
    localparam [2:0] S_101   = 3'd3;
    localparam [2:0] S_1011  = 3'd4;
    localparam [2:0] S_10110 = 3'd5;

    logic [2:0] state;
    logic [2:0] next_state;
    logic       match;

    assign match = bit_valid && bit_in && (state == S_10110);

    always_comb begin
        next_state = state;
        if (bit_valid) begin
            case (state)
                S_NONE:  next_state = bit_in ? S_1    : S_NONE;
                S_1:     next_state = bit_in ? S_1    : S_10;
                S_10:    next_state = bit_in ? S_101  : S_NONE;
                S_101:   next_state = bit_in ? S_1011 : S_10;
                S_1011:  next_state = bit_in ? S_NONE : S_10110;
                S_10110: next_state = bit_in ? S_101  : S_NONE;
                default: next_state = S_NONE;
            endcase
        end
    end

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            state       <= S_NONE;
            detected    <= 1'b0;
            match_count <= 4'd0;
        end else begin
            state    <= next_state;
            detected <= match;
            if (match && match_count != 4'd15) begin
                match_count <= match_count + 4'd1;
            end
        end
    end

endmodule
