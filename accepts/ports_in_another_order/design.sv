module gray_counter #(
    parameter WIDTH = 4
) (
    output logic [WIDTH-1:0] gray,
    output logic             wrapped,
    input  logic [WIDTH-1:0] load_value,
    input  logic             load, enable, rst_n, clk
);
    logic [WIDTH-1:0] count;
    wire  [WIDTH-1:0] following = load ? load_value : enable ? count + 1'b1 : count;

    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            count   <= '0;
            gray    <= '0;
            wrapped <= 1'b0;
        end else begin
            count   <= following;
            gray    <= following ^ (following >> 1);
            wrapped <= enable && !load && (&count);
        end
endmodule
