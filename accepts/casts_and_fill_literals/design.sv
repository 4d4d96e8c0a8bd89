module edge_detector #(
    parameter WIDTH = 4
) (
    input  logic             clk,
    input  logic             rst,
    input  logic [WIDTH-1:0] signal_in,
    input  logic [WIDTH-1:0] clear,
    output logic [WIDTH-1:0] rise,
    output logic [WIDTH-1:0] fall,
    output logic [WIDTH-1:0] seen
);

    logic [WIDTH-1:0] previous;
    logic             primed;
    localparam int N = $bits(signal_in);
    wire [N-1:0] compare = primed ? '1 : '0;
    always_ff @(posedge clk) begin
        previous <= N'(signal_in);
        primed   <= 1'(!rst);
        rise     <= rst ? '0 : $unsigned(signal_in & ~previous & compare);
        fall     <= rst ? '0 : ~signal_in & previous & compare;
        seen     <= rst ? '0 : ((signal_in ^ previous) & compare) | (seen & ~clear);
    end
    if ($size(seen) != WIDTH || $left(rise) != WIDTH - 1) begin : wrong
        initial $error("widths");
    end
endmodule
