module xor_with_upper #(parameter N = 1) (input logic [N-1:0] d, input logic upper, output logic [N-1:0] q);
    if (N == 1) begin : leaf
        assign q = d ^ upper;
    end else begin : halves
        localparam int LOW = N / 2;
        xor_with_upper #(.N(N - LOW)) high (.d(d[N-1:LOW]), .upper(upper), .q(q[N-1:LOW]));
        xor_with_upper #(.N(LOW)) low (.d(d[LOW-1:0]), .upper(d[LOW]), .q(q[LOW-1:0]));
    end
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
    logic [WIDTH-1:0] count;
    wire  [WIDTH-1:0] following = load ? load_value : enable ? count + 1'b1 : count;

    logic [WIDTH-1:0] encoded;
    xor_with_upper #(.N(WIDTH)) encode (.d(following), .upper(1'b0), .q(encoded));
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            count   <= '0;
            gray    <= '0;
            wrapped <= 1'b0;
        end else begin
            count   <= following;
            gray    <= encoded;
            wrapped <= enable && !load && (&count);
        end
endmodule
