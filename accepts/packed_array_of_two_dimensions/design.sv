module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);

    wire  [7:0][2:0] numbers = {3'd7, 3'd6, 3'd5, 3'd4, 3'd3, 3'd2, 3'd1, 3'd0};
    logic [1:0][7:0] sets;
    logic [7:0]      candidates;
    assign sets       = {priority_override, req};
    assign candidates = sets[|sets[1]];
    always_ff @(posedge clk) begin
        {grant, valid, grant_index} <= '0;
        if (!reset) begin
            valid <= |candidates;
            for (int i = 7; i >= 0; i--)
                if (candidates[i]) begin
                    grant       <= 8'd1 << i;
                    grant_index <= numbers[i];
                end
        end
    end
endmodule
