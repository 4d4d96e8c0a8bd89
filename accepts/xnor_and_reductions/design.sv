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
    logic [WIDTH-1:0] count, following;
    always @* begin
        if (load === 1'b1) following = load_value;
        else following = count + (enable === 1'b1);
    end
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) {count, gray, wrapped} <= {2*WIDTH+1{~|1'b1}};
        else begin
            count   <= following;
            gray    <= ~(following ~^ (following >> 1));
            wrapped <= ~(~enable | load) & ~(~&count);
        end
endmodule
