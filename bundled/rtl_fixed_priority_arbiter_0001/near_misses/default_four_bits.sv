// near miss: the width is a parameter whose default is 4, so half of every port is missing
module fixed_priority_arbiter #(
    parameter N = 4
) (
    input  logic                 clk,
    input  logic                 reset,
    input  logic [N-1:0]         req,
    input  logic [N-1:0]         priority_override,
    output logic [N-1:0]         grant,
    output logic                 valid,
    output logic [$clog2(N)-1:0] grant_index
);

    integer i;
    logic [N-1:0] active;

    assign active = (priority_override != 0) ? priority_override : req;

    always_ff @(posedge clk) begin
        grant       <= 0;
        grant_index <= 0;
        valid       <= 1'b0;
        if (!reset && active != 0) begin
            valid <= 1'b1;
            for (i = N - 1; i >= 0; i = i - 1) begin
                if (active[i]) begin
                    grant       <= 1 << i;
                    grant_index <= i;
                end
            end
        end
    end

endmodule
