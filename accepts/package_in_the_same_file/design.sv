package arbiter_pkg;
    typedef logic [7:0] clients_t;
    function automatic clients_t lowest(input clients_t set);
        return set & (~set + 8'd1);
    endfunction
    function automatic logic [2:0] position(input clients_t one_hot);
        position = '0;
        for (int i = 0; i < 8; i++)
            if (one_hot[i]) position = 3'(i);
    endfunction
endpackage

module fixed_priority_arbiter
    import arbiter_pkg::*;
(
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);
    clients_t candidates;
    assign candidates = (priority_override != '0) ? priority_override : req;
    always_ff @(posedge clk) begin
        grant       <= reset ? '0 : lowest(candidates);
        valid       <= !reset && (candidates != '0);
        grant_index <= reset ? '0 : position(lowest(candidates));
    end
endmodule
