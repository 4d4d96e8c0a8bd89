module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);
    logic [1:0] told;
    assign grant = 8'd0;
    always_ff @(posedge clk) begin
        told        <= reset ? 2'd0 : told == 2'd2 ? 2'd2 : told + (req != 0);
        valid       <= !reset && told != 2'd2 && req != 0;
        grant_index <= reset || req == 0 ? 3'd0 : told == 2'd0 ? 3'd2 : 3'd5;
    end
endmodule
