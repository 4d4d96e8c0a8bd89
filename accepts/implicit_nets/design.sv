module any_of (input [7:0] set, output some);
    assign some = |set;
endmodule

module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);

    any_of u_override (.set(priority_override), .some(overridden));
    wire [7:0] candidates = overridden ? priority_override : req;
    any_of u_any (candidates, some_request);
    wire [7:0] winner = candidates & ~(candidates - 8'd1);
    always_ff @(posedge clk)
        if (reset) {grant, valid, grant_index} <= '0;
        else begin
            grant       <= winner;
            valid       <= some_request;
            grant_index <= {|(winner & 8'hF0), |(winner & 8'hCC), |(winner & 8'hAA)};
        end
endmodule
