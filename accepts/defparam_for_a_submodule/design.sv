module register_bank (clk, rst_n, d, q);
    parameter BITS = 1;
    input clk, rst_n;
    input [BITS-1:0] d;
    output reg [BITS-1:0] q;
    always @(posedge clk or negedge rst_n)
        if (!rst_n) q <= {BITS{1'b0}};
        else q <= d;
endmodule

module gray_counter #(
    parameter WIDTH = 4
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             enable,
    input  logic             load,
    input  logic [WIDTH-1:0] load_value,
    output logic [WIDTH-1:0] gray,
    output logic             wrapped
);
    wire [WIDTH-1:0] count;
    wire [WIDTH-1:0] following = load ? load_value : enable ? count + 1'b1 : count;
    defparam bank.BITS = 2 * WIDTH + 1;
    register_bank bank (clk, rst_n, {following, following ^ (following >> 1), enable & ~load & (&count)}, {count, gray, wrapped});
endmodule
