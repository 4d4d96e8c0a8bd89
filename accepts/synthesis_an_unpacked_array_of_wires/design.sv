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

    // A plain sum of the bits: synthesis sees one many-operand addition and builds a carry-save tree from it.
    wire [5:0] part [0:32];
    assign part[0] = 6'd0;
    genvar g;
    generate for (g = 0; g < 32; g = g + 1) begin : acc
        assign part[g+1] = part[g] + {5'd0, data[g]};
    end endgenerate
    wire [5:0] total = part[32];

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
