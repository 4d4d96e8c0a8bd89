// near miss: scans from the most significant bit, so client 7 beats client 0
module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);

    integer i;
    logic [7:0] sel;

    assign sel = (priority_override != 8'd0) ? priority_override : req;

    always_ff @(posedge clk) begin
        grant       <= 8'd0;
        valid       <= 1'b0;
        grant_index <= 3'd0;
        if (!reset) begin
            for (i = 0; i < 8; i = i + 1) begin
                if (sel[i]) begin
                    grant       <= 8'd1 << i;
                    valid       <= 1'b1;
                    grant_index <= i[2:0];
                end
            end
        end
    end

endmodule
