// near miss: works, but counts each half in thermometer code and is still far too large
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

    logic [16:0] low;
    logic [16:0] high;
    logic [5:0]  total;
    integer      i;
    integer      k;

    always_comb begin
        low  = 17'd1;
        high = 17'd1;
        for (i = 0; i < 16; i = i + 1)
            for (k = 16; k > 0; k = k - 1) begin
                low[k]  = low[k] | (low[k-1] & data[i]);
                high[k] = high[k] | (high[k-1] & data[i+16]);
            end

        total = 6'd0;
        for (k = 1; k <= 16; k = k + 1)
            total = total + {5'd0, low[k]} + {5'd0, high[k]};
    end

    always_ff @(posedge clk) begin
        if (!rst_n) begin
            out_valid <= 1'b0;
            count     <= 6'd0;
            majority  <= 1'b0;
        end else begin
            out_valid <= in_valid;
            if (in_valid) begin
                count    <= total;
                majority <= (total > 6'd16);
            end
        end
    end

endmodule
