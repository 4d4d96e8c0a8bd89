module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);

    logic [7:0] candidates, winner;
    logic [2:0] lowest;
    assign candidates = |priority_override ? priority_override : req;
    always_comb begin
        winner = '0;
        lowest = '0;
        for (int i = 0; i < 8; i++) begin
            if (!candidates[i]) continue;
            winner[i] = 1'b1;
            lowest    = 3'(i);
            break;
        end
    end
    always_ff @(posedge clk) begin
        grant       <= winner & {8{!reset}};
        valid       <= !reset & |candidates;
        grant_index <= lowest & {3{!reset}};
    end
endmodule
