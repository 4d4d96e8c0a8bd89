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

    logic             primed;
    always_ff @(posedge clk) primed <= !rst;
    generate
        genvar i;
        for (i = 0; i < WIDTH; i = i + 1) begin : bits
            reg previous;
            always @(posedge clk) begin
                previous <= signal_in[i];
                rise[i]  <= !rst && primed && signal_in[i] && !previous;
                fall[i]  <= !rst && primed && !signal_in[i] && previous;
            end
            if (i % 2 == 0) begin : even
                always @(posedge clk) seen[i] <= !rst && (primed && signal_in[i] != previous || seen[i] && !clear[i]);
            end else begin : odd
                always @(posedge clk)
                    if (rst) seen[i] <= 1'b0;
                    else if (primed && signal_in[i] != previous) seen[i] <= 1'b1;
                    else if (clear[i]) seen[i] <= 1'b0;
            end
        end
        case (WIDTH)
            0: begin : none initial $error("no width"); end
            default: begin : some localparam int KNOWN = WIDTH; end
        endcase
    endgenerate
endmodule
