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
    logic [2*WIDTH:0] first, second, following;
    wire  [WIDTH-1:0] count  = second[2*WIDTH:WIDTH+1];
    wire  [WIDTH-1:0] upcoming = load ? load_value : enable ? count + 1'b1 : count;
    assign following = {upcoming, upcoming ^ (upcoming >> 1), enable & ~load & (&count)};
    assign {gray, wrapped} = second[WIDTH:0];
    always_latch
        if (!rst_n) first = '0;
        else if (!clk) first = following;
    always_latch
        if (!rst_n) second = '0;
        else if (clk) second = first;
endmodule
