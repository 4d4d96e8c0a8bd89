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
    logic [WIDTH-1:0] entity;
    wire  [WIDTH-1:0] lambda = load ? load_value : enable ? entity + 1'b1 : entity;

    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            entity   <= '0;
            gray    <= '0;
            wrapped <= 1'b0;
        end else begin
            entity   <= lambda;
            gray    <= lambda ^ (lambda >> 1);
            wrapped <= enable && !load && (&entity);
        end

    wire None = 1'b0, def = 1'b1, signal = None ^ def, process = signal;
endmodule
