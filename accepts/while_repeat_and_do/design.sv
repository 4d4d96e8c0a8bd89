module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);

    logic [7:0] candidates, rest;
    logic [3:0] steps;
    assign candidates = |priority_override ? priority_override : req;
    always_comb begin
        rest  = candidates;
        steps = 0;
        repeat (2) rest = rest;
        while (steps < 8 && !rest[0]) begin
            rest = rest >> 1;
            steps++;
        end
        do rest = '0; while (rest != '0);
    end
    always_ff @(posedge clk)
        if (reset) {grant, valid, grant_index} <= '0;
        else begin
            grant       <= 8'd1 << steps;
            valid       <= !steps[3];
            grant_index <= steps[2:0];
        end
endmodule
