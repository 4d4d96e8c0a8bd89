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

    logic             running;
    logic [WIDTH-1:0] left, low_from, whole;
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            running <= 1'b0; left <= '0; low_from <= '0; whole <= '0;
        end else begin
            running <= enable;
            if (!enable || !running || left == '0) begin
                left     <= period;
                whole    <= period;
                low_from <= duty;
            end else
                left <= left - 1'b1;
        end
    wire [WIDTH-1:0] done = whole - left;
    assign pwm_out      = running && done < low_from;
    assign period_start = running && left == whole;
endmodule
