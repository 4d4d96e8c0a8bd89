module edge_detector #(
    parameter WIDTH = 4
) (
    input  wire logic             clk,
    input  wire logic             rst,
    input  wire logic [WIDTH-1:0] signal_in,
    input  wire logic [WIDTH-1:0] clear,
    output var  logic [WIDTH-1:0] rise,
    output var  logic [WIDTH-1:0] fall,
    output var  logic [WIDTH-1:0] seen
);

    logic [WIDTH-1:0] previous;
    logic             primed;
    always_ff @(posedge clk) begin
        {previous, primed} <= {signal_in, !rst};
        rise <= {WIDTH{primed && !rst}} & signal_in & ~previous;
        fall <= {WIDTH{primed && !rst}} & ~signal_in & previous;
        seen <= rst ? '0 : ({WIDTH{primed}} & (signal_in ^ previous)) | (seen & ~clear);
    end
endmodule
