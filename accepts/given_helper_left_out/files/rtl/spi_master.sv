// Only this file is changed.
// SPI master: control of one transfer in any of the four modes.
module spi_master #(
    parameter int WIDTH = 8
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             start,
    input  logic             cpol,
    input  logic             cpha,
    input  logic [7:0]       half_div,
    input  logic [WIDTH-1:0] tx_data,
    output logic [WIDTH-1:0] rx_data,
    output logic             busy,
    output logic             done,
    output logic             sclk,
    output logic             cs_n,
    output logic             mosi,
    input  logic             miso
);

    localparam int               TICK_W    = $clog2(2*WIDTH + 1);
    localparam logic [TICK_W-1:0] LAST_EDGE = TICK_W'(2*WIDTH - 1);
    localparam logic [TICK_W-1:0] END_TICK  = TICK_W'(2*WIDTH);

    logic              accept;
    logic              cpha_q;
    logic [7:0]        half_div_q;
    logic              tick;
    logic [TICK_W-1:0] ticks;       // ticks seen so far in this transfer
    logic              sclk_edge;
    logic              leading;
    logic              sample;
    logic              shift;
    logic [WIDTH-1:0]  rx_word;

    assign accept    = start && !busy;
    assign sclk_edge = tick && (ticks != END_TICK);
    assign leading   = !ticks[0];
    assign sample    = sclk_edge && (leading != cpha_q);
    assign shift     = sclk_edge && (leading == cpha_q)
                       && (cpha_q ? (ticks != '0) : (ticks != LAST_EDGE));

    spi_clkgen u_clkgen (
        .clk      (clk),
        .rst_n    (rst_n),
        .run      (busy),
        .half_div (half_div_q),
        .tick     (tick)
    );

    spi_shift #(
        .WIDTH (WIDTH)
    ) u_shift (
        .clk     (clk),
        .rst_n   (rst_n),
        .load    (accept),
        .tx_word (tx_data),
        .shift   (shift),
        .sample  (sample),
        .miso    (miso),
        .mosi    (mosi),
        .rx_word (rx_word)
    );

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            busy       <= 1'b0;
            done       <= 1'b0;
            sclk       <= 1'b0;
            cs_n       <= 1'b1;
            rx_data    <= '0;
            cpha_q     <= 1'b0;
            half_div_q <= 8'd0;
            ticks      <= '0;
        end else begin
            done <= 1'b0;
            if (!busy) begin
                sclk <= cpol;
                if (start) begin
                    busy       <= 1'b1;
                    cs_n       <= 1'b0;
                    cpha_q     <= cpha;
                    half_div_q <= half_div;
                    ticks      <= '0;
                end
            end else if (sclk_edge) begin
                sclk  <= !sclk;
                ticks <= ticks + 1'b1;
            end else if (tick) begin
                busy    <= 1'b0;
                cs_n    <= 1'b1;
                done    <= 1'b1;
                rx_data <= rx_word;
            end
        end
    end

endmodule
