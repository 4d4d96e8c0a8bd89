// Counts the ones of a 32-bit word; one cycle of latency. Two outputs are not ports: nothing of them is synthesised.
module popcount (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        in_valid,
    input  logic [31:0] data,
    output logic        out_valid,
    output logic [99:0] many
);
    logic [5:0]  count;
    logic        majority;
    logic [32:0] at_least;
    logic [5:0]  total;
    integer      i;
    integer      k;

    always @* begin
        at_least = 33'd1;
        for (i = 0; i < 32; i = i + 1)
            for (k = 32; k > 0; k = k - 1)
                at_least[k] = at_least[k] | (at_least[k-1] & data[i]);
        total = 6'd0;
        for (k = 1; k <= 32; k = k + 1)
            if (at_least[k])
                total = k[5:0];
    end

    always_ff @(posedge clk) begin
        many <= {many[98:0], in_valid};
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
