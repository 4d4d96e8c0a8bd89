module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);

    function automatic logic [3:0] zeros(input logic [7:0] set);
        if (set == '0) return 4'd8;
        if (set[0]) return 4'd0;
        return zeros(set >> 1) + 4'd1;
    endfunction
    logic [3:0] place;
    assign place = zeros(|priority_override ? priority_override : req);
    always_ff @(posedge clk) begin
        grant       <= reset ? '0 : 8'd1 << place;
        valid       <= !reset && !place[3];
        grant_index <= reset ? '0 : place[2:0];
    end
endmodule
