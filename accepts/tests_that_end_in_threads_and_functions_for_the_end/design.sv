// Eight clients, bit 0 first; a non-zero override vector replaces the requests.
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
    logic [7:0] winner;
    logic [2:0] index;

    assign candidates = (priority_override != 8'd0) ? priority_override : req;
    assign winner     = candidates & (~candidates + 8'd1);  // isolates the lowest set bit

    assign index[0] = |(winner & 8'b1010_1010);
    assign index[1] = |(winner & 8'b1100_1100);
    assign index[2] = |(winner & 8'b1111_0000);

    always_ff @(posedge clk) begin
        if (reset) begin
            grant       <= 8'd0;
            valid       <= 1'b0;
            grant_index <= 3'd0;
        end else begin
            grant       <= winner;
            valid       <= |candidates;
            grant_index <= index;
        end
    end

endmodule
