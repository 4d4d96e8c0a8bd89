// near miss: the outputs go through one more register
// Pulse-width modulator: programmable period, values taken over at the start of a period, enable.
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
    logic [WIDTH-1:0] cnt;
    logic [WIDTH-1:0] duty_act;
    logic [WIDTH-1:0] period_act;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            running    <= 1'b0;
            cnt        <= '0;
            duty_act   <= '0;
            period_act <= '0;
        end else begin
            running <= enable;
            if (!enable || !running || (cnt == period_act)) begin
                cnt        <= '0;
                duty_act   <= duty;
                period_act <= period;
            end else begin
                cnt <= cnt + 1'b1;
            end
        end
    end

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            pwm_out      <= 1'b0;
            period_start <= 1'b0;
        end else begin
            pwm_out      <= running && (cnt < duty_act);
            period_start <= running && (cnt == '0);
        end
    end

endmodule
