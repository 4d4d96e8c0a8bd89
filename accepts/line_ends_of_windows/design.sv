// Edge detector
/* written
   on another system */
`define PULSES(level) \
    (changed & (level))
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
    logic [WIDTH-1:0] previous, changed;
    logic             primed;
    assign changed = primed ? signal_in ^ previous : '0;
    always_ff @(posedge clk) begin
        previous <= signal_in;
        primed   <= !rst;
        rise     <= rst ? '0 : `PULSES(signal_in);
        fall     <= rst ? '0 : `PULSES(~signal_in);
        seen     <= rst ? '0 : changed | (seen & ~clear);
    end
endmodule
