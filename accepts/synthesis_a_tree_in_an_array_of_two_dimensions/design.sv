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

    // Three rows of adders, written as a generate loop over unpacked rows.
    wire [5:0] row [0:5][0:31];
    genvar r, c;
    generate
        for (c = 0; c < 32; c = c + 1) begin : leaves
            assign row[0][c] = {5'd0, data[c]};
        end
        for (r = 1; r <= 5; r = r + 1) begin : rows
            for (c = 0; c < (32 >> r); c = c + 1) begin : sums
                assign row[r][c] = row[r-1][2*c] + row[r-1][2*c+1];
            end
        end
    endgenerate
    wire [5:0] total = row[5][0];

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
