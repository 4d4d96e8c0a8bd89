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
    function void choose(input logic [WIDTH-1:0] present);
        following = present;
        if (load) following = load_value;
        else if (enable) following = present + 1'b1;
    endfunction
    always @(count, load, load_value, enable) choose(count);
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
