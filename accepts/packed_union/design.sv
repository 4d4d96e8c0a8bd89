module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);

    typedef union packed {
        logic [7:0]      bits;
        logic [1:0][3:0] halves;
    } clients_t;
    clients_t candidates;
    logic     low;
    logic [3:0] half;
    assign candidates.bits = |priority_override ? priority_override : req;
    assign low  = |candidates.halves[0];
    assign half = low ? candidates.halves[0] : candidates.halves[1];
    wire [3:0] one = half & -half;
    always_ff @(posedge clk)
        if (reset) {grant, valid, grant_index} <= '0;
        else begin
            grant       <= low ? {4'd0, one} : {one, 4'd0};
            valid       <= |candidates.bits;
            grant_index <= {!low && |half, |one[3:2], one[3] | one[1]};
        end
endmodule
