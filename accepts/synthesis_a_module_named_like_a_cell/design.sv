// Counts the ones of a 32-bit word; one cycle of latency.
module \$__popcount  (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        in_valid,
    input  logic [31:0] data,
    output logic        out_valid,
    output logic [5:0]  count,
    output logic        majority
);

    // A plain sum of the bits: synthesis sees one many-operand addition and builds a carry-save tree from it.
    logic [5:0] total;
    integer     i;

    always_comb begin
        total = 6'd0;
        for (i = 0; i < 32; i = i + 1)
            total = total + {5'd0, data[i]};
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

module popcount (
    input  logic        clk,
    input  logic        rst_n,
    input  logic        in_valid,
    input  logic [31:0] data,
    output logic        out_valid,
    output logic [5:0]  count,
    output logic        majority
);
    \$__popcount counter (
        .clk(clk), .rst_n(rst_n), .in_valid(in_valid), .data(data), .out_valid(out_valid), .count(count), .majority(majority)
    );
endmodule
