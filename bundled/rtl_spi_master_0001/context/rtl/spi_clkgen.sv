// Marks the last cycle of every half period of half_div + 1 cycles while run is high.
module spi_clkgen (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       run,
    input  logic [7:0] half_div,
    output logic       tick
);

    logic [7:0] cnt;

    assign tick = run && (cnt == half_div);

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n)
            cnt <= 8'd0;
        else if (!run || tick)
            cnt <= 8'd0;
        else
            cnt <= cnt + 8'd1;
    end

endmodule
