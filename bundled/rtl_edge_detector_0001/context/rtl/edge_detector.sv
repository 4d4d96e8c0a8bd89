// Reports edges on WIDTH synchronous signals.
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

    logic [WIDTH-1:0] previous;  // signal_in as sampled at the last clock edge
    logic             primed;    // high once previous holds a sample

    // TODO: keep previous and primed up to date

    // TODO: drive rise and fall

    // TODO: drive seen

endmodule
