`ifndef SPI_SHIFT
`define SPI_SHIFT
module spi_shift (clk, rst_n, load, tx_word, shift, sample, miso, mosi, rx_word);
    parameter WIDTH = 8;
    input              clk, rst_n, load, shift, sample, miso;
    input  [WIDTH-1:0] tx_word;
    output             mosi;
    output [WIDTH-1:0] rx_word;
    reg    [WIDTH-1:0] tx_reg, rx_word;

    assign mosi = tx_reg[WIDTH-1];

    always @(posedge clk or negedge rst_n)
        if (!rst_n) {tx_reg, rx_word} <= 0;
        else if (load) {tx_reg, rx_word} <= {tx_word, {WIDTH{1'b0}}};
        else begin
            if (shift) tx_reg <= tx_reg << 1;
            if (sample) rx_word <= {rx_word, miso};
        end
endmodule
`endif
