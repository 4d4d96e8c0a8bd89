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
    function automatic [5:0] ones(input [31:0] word);
        ones = 6'd0;
        for (int k = 0; k < 32; k++) ones = ones + {5'd0, word[k]};
    endfunction

    wire [5:0] total = ones(data);

    always_ff @(posedge clk)
        if (!rst_n) {out_valid, count, majority} <= '0;
        else begin
            out_valid <= in_valid;
            count     <= in_valid ? total : count;
            majority  <= in_valid ? total > 6'd16 : majority;
        end
endmodule
