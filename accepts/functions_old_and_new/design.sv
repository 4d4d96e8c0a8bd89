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

    logic [WIDTH-1:0] count;

    function [WIDTH-1:0] following;
        input [WIDTH-1:0] present;
        input             go;
        begin
            following = go ? present + 1'b1 : present;
        end
    endfunction

    function automatic logic [WIDTH-1:0] encode(input logic [WIDTH-1:0] binary);
        if (binary == '0) return '0;
        return binary ^ (binary >> 1);
    endfunction

    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            count <= '0; gray <= '0; wrapped <= '0;
        end else begin
            count   <= load ? load_value : following(count, enable);
            gray    <= encode(load ? load_value : following(count, enable));
            wrapped <= enable && !load && following(count, 1'b1) == '0;
        end
endmodule
