// Only this file is changed.
// Data path of the SPI master: a send register and a receive register, top bit first.
module spi_shift #(
    parameter int WIDTH = 8
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             load,
    input  logic [WIDTH-1:0] tx_word,
    input  logic             shift,
    input  logic             sample,
    input  logic             miso,
    output logic             mosi,
    output logic [WIDTH-1:0] rx_word
);

    logic [WIDTH-1:0] tx_reg;

    assign mosi = tx_reg[WIDTH-1];

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            tx_reg  <= '0;
            rx_word <= '0;
        end else if (load) begin
            tx_reg  <= tx_word;
            rx_word <= '0;
        end else begin
            if (shift)
                tx_reg <= {tx_reg[WIDTH-2:0], 1'b0};
            if (sample)
                rx_word <= {rx_word[WIDTH-2:0], miso};
        end
    end

endmodule
