// Counts the ones of a 32-bit word; one cycle of latency.
module popcount (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        in_valid,
    input  logic [31:0] data,
    output logic        out_valid,
    output logic [5:0]  count,
    output logic        majority
);

    // The result has a clock of its own, which stands still without a valid word.
    logic [5:0] total;
    integer     i;
    logic       open;
    wire        result_clk = clk & open;

    always_latch
        if (!clk) open = in_valid | ~rst_n;

    always_comb begin
        total = 6'd0;
        for (i = 0; i < 32; i = i + 1)
            total = total + {5'd0, data[i]};
    end

    always_ff @(posedge clk)
        out_valid <= rst_n & in_valid;

    always_ff @(posedge result_clk)
        if (!rst_n) begin
            count    <= 6'd0;
            majority <= 1'b0;
        end else begin
            count    <= total;
            majority <= (total > 6'd16);
        end

endmodule
