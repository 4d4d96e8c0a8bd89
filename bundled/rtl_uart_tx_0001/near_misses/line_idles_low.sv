// near miss: tx is low after reset until the first frame
// Serial transmitter: the frame waits in a shift register, the bit on the line in a register of its own.
module uart_tx #(
    parameter CLKS_PER_BIT = 4,
    parameter PARITY       = 0,
    parameter STOP_BITS    = 1
) (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       tx_valid,
    input  logic [7:0] tx_data,
    output logic       tx_ready,
    output logic       tx,
    output logic       tx_busy,
    output logic       tx_done
);

    localparam FRAME_BITS  = 9 + ((PARITY != 0) ? 1 : 0) + STOP_BITS;
    localparam TICK_WIDTH  = $clog2(CLKS_PER_BIT);
    localparam INDEX_WIDTH = 4;  // a frame has at most 12 bits

    localparam [TICK_WIDTH-1:0]  LAST_TICK = TICK_WIDTH'(CLKS_PER_BIT - 1);
    localparam [INDEX_WIDTH-1:0] LAST_BIT  = INDEX_WIDTH'(FRAME_BITS - 1);

    logic [TICK_WIDTH-1:0]  tick;       // clock cycle within the bit
    logic [INDEX_WIDTH-1:0] bit_index;  // bit within the frame
    logic [8:0]             waiting;    // data and parity still to be sent, then ones
    logic                   parity_bit;
    logic                   last_cycle;

    // Without parity the ninth waiting bit is a stop bit.
    assign parity_bit = (PARITY == 1) ? ^tx_data : (PARITY == 2) ? ~^tx_data : 1'b1;

    assign last_cycle = tx_busy && (bit_index == LAST_BIT) && (tick == LAST_TICK);
    assign tx_done    = last_cycle;
    assign tx_ready   = !tx_busy || last_cycle;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            tx        <= 1'b0;
            tx_busy   <= 1'b0;
            tick      <= '0;
            bit_index <= '0;
            waiting   <= '1;
        end else if (tx_ready) begin
            tx        <= !tx_valid;
            tx_busy   <= tx_valid;
            tick      <= '0;
            bit_index <= '0;
            if (tx_valid) begin
                waiting <= {parity_bit, tx_data};
            end
        end else if (tick == LAST_TICK) begin
            tx        <= waiting[0];
            waiting   <= {1'b1, waiting[8:1]};
            tick      <= '0;
            bit_index <= bit_index + 1'b1;
        end else begin
            tick <= tick + 1'b1;
        end
    end

endmodule
