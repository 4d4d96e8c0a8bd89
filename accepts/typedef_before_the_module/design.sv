typedef logic [7:0] clients_t;
typedef logic [2:0] client_t;

module fixed_priority_arbiter (
    input  logic     clk,
    input  logic     reset,
    input  clients_t req,
    input  clients_t priority_override,
    output clients_t grant,
    output logic     valid,
    output client_t  grant_index
);
    clients_t candidates;
    client_t  lowest;
    assign candidates = |priority_override ? priority_override : req;
    always_comb begin
        lowest = '0;
        for (int i = 7; i >= 0; i--) if (candidates[i]) lowest = client_t'(i);
    end
    always_ff @(posedge clk)
        if (reset) begin
            grant <= '0; valid <= '0; grant_index <= '0;
        end else begin
            grant       <= candidates == '0 ? '0 : clients_t'(1) << lowest;
            valid       <= candidates != '0;
            grant_index <= lowest;
        end
endmodule
