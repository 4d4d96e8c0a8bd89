// near miss: there is no grant_index output
// Eight clients, bit 0 first; a non-zero override vector replaces the requests.
module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid
);

    logic [7:0] candidates;
    logic [7:0] winner;

    assign candidates = (priority_override != 8'd0) ? priority_override : req;
    assign winner     = candidates & (~candidates + 8'd1);  // isolates the lowest set bit

    always_ff @(posedge clk) begin
        if (reset) begin
            grant       <= 8'd0;
            valid       <= 1'b0;
        end else begin
            grant       <= winner;
            valid       <= |candidates;
        end
    end

endmodule
