// Pulse-width modulator: pwm_out is high for duty of every 2**WIDTH cycles.
module pwm #(
    parameter int WIDTH = 8
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic [WIDTH-1:0] duty,
    output logic             pwm_out
);

    logic [WIDTH-1:0] cnt;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n)
            cnt <= '0;
        else
            cnt <= cnt + 1'b1;
    end

    assign pwm_out = (cnt < duty);

endmodule
