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

    typedef struct packed {
        logic       valid;
        logic [5:0] ones;
        logic       most;
    } result_t;

    result_t now, next;
    logic [5:0] total;
    integer i;

    always_comb begin
        total = 6'd0;
        for (i = 0; i < 32; i = i + 1)
            total = total + {5'd0, data[i]};
        next = now;
        next.valid = in_valid;
        if (in_valid) begin
            next.ones = total;
            next.most = total > 6'd16;
        end
    end

    always_ff @(posedge clk)
        if (!rst_n) now <= '0;
        else        now <= next;

    assign out_valid = now.valid;
    assign count     = now.ones;
    assign majority  = now.most;

endmodule
