module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);
    logic [2:0] count = 3'd0;
    always_ff @(posedge clk) count <= count + 3'd1;
    assign grant_index = count;
    assign grant = 8'd1 << count;
    assign valid = 1'b0;
endmodule
