module pwm #(
    parameter int WIDTH = 8
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             enable,
    input  logic [WIDTH-1:0] duty,
    input  logic [WIDTH-1:0] period,
    output logic             pwm_out,
    output logic             period_start
);

    wire [3*WIDTH:0] following;
    reg  [3*WIDTH:0] state;
    wire             running;
    wire [WIDTH-1:0] present, high, last;
    assign {running, present, high, last} = state;
    wire restart = ~enable | ~running | (present == last);
    assign following = {enable, restart ? {{WIDTH{1'b0}}, duty, period} : {present + {{WIDTH-1{1'b0}}, 1'b1}, high, last}};
    always @(posedge clk or negedge rst_n) state <= rst_n ? following : {3*WIDTH+1{1'b0}};
    assign pwm_out      = running ? present < high : 1'b0;
    assign period_start = running ? present == {WIDTH{1'b0}} : 1'b0;
endmodule
