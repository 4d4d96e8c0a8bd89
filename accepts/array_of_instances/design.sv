module one_edge (input logic clk, rst, level, clear, output logic rise, fall, seen);
    logic previous, primed;
    wire  changed = primed & (level ^ previous);
    always_ff @(posedge clk) begin
        previous <= level;
        primed   <= !rst;
        rise     <= !rst & changed & level;
        fall     <= !rst & changed & !level;
        seen     <= !rst & (changed | (seen & !clear));
    end
endmodule

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
    one_edge bits [WIDTH-1:0] (.clk(clk), .rst(rst), .level(signal_in), .clear(clear), .rise(rise), .fall(fall), .seen(seen));
endmodule
