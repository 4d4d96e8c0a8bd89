module sequence_detector (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       bit_valid,
    input  logic       bit_in,
    output logic       detected,
    output logic [3:0] match_count
);

    logic [5:0] state, following;
    always_comb begin
        following = '0;
        case (1'b1)
            state[0]: following[bit_in ? 1 : 0] = 1'b1;
            state[1]: following[bit_in ? 1 : 2] = 1'b1;
            state[2]: following[bit_in ? 3 : 0] = 1'b1;
            state[3]: following[bit_in ? 4 : 2] = 1'b1;
            state[4]: following[bit_in ? 1 : 5] = 1'b1;
            default:  following[bit_in ? 3 : 0] = 1'b1;
        endcase
    end
    wire match = bit_valid & bit_in & state[5];
    always_ff @(posedge clk, negedge rst_n)
        if (!rst_n) begin
            state <= 6'b000001; detected <= 0; match_count <= 0;
        end else begin
            if (bit_valid) state <= following;
            detected    <= match;
            match_count <= match_count + (match & ~&match_count);
        end
endmodule
