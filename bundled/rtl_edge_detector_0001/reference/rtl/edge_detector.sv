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

    logic [WIDTH-1:0] changed;

    assign changed = primed ? (signal_in ^ previous) : {WIDTH{1'b0}};

    always_ff @(posedge clk) begin
        previous <= signal_in;
        if (rst) begin
            primed <= 1'b0;
            rise   <= {WIDTH{1'b0}};
            fall   <= {WIDTH{1'b0}};
            seen   <= {WIDTH{1'b0}};
        end else begin
            primed <= 1'b1;
            rise   <= changed & signal_in;
            fall   <= changed & ~signal_in;
            seen   <= changed | (seen & ~clear);
        end
    end

endmodule
