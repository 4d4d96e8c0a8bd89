module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);
    logic [7:0] seen;
    always_ff @(posedge clk) begin
        if (reset) begin
            seen <= 8'd0;
            grant <= 8'd0;
            valid <= 1'b0;
        end else if (seen == 8'd0 || seen == req) begin
            seen <= req;
            grant <= req;
            valid <= |req;
        end else
            valid <= 1'b0;
    end
    assign grant_index = 3'd0;
endmodule
