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

    logic [0:WIDTH-1] count, following;
    assign following = load ? load_value : count + (enable ? 1'b1 : 1'b0);
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            count <= '0; gray <= '0; wrapped <= '0;
        end else begin
            count   <= following;
            gray    <= {following[0], following[1:WIDTH-1] ^ following[0:WIDTH-2]};
            wrapped <= enable && !load && (&count);
        end
endmodule
