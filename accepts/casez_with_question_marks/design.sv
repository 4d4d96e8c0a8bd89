module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);

    logic [7:0] candidates;
    logic [2:0] lowest;
    assign candidates = priority_override != 0 ? priority_override : req;
    always_comb
        casez (candidates)
            8'b????_???1: lowest = 0;
            8'b????_??10: lowest = 1;
            8'b????_?100: lowest = 2;
            8'b????_1000: lowest = 3;
            8'b???1_0000: lowest = 4;
            8'b??10_0000: lowest = 5;
            8'b?100_0000: lowest = 6;
            8'b1000_0000: lowest = 7;
            default:      lowest = 0;
        endcase
    always_ff @(posedge clk)
        if (reset) {grant, valid, grant_index} <= 12'd0;
        else       {grant, valid, grant_index} <= {8'(|candidates) << lowest, |candidates, lowest};
endmodule
