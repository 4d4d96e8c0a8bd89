module sync_fifo #(
    parameter DATA_WIDTH = 8,
    parameter DEPTH      = 8
) (
    input  logic                       clk,
    input  logic                       rst_n,
    input  logic                       wr_en,
    input  logic [DATA_WIDTH-1:0]      wr_data,
    input  logic                       rd_en,
    output logic [DATA_WIDTH-1:0]      rd_data,
    output logic                       full,
    output logic                       empty,
    output logic                       almost_full,
    output logic                       almost_empty,
    output logic [$clog2(DEPTH+1)-1:0] count
);
    logic [DATA_WIDTH-1:0] words [DEPTH];  // the oldest is words[0]
    int unsigned           held, place;
    logic                  take, put;
    assign take = rd_en && held > 0;
    assign put  = wr_en && (held < DEPTH || take);
    always_ff @(posedge clk)
        if (!rst_n) begin
            held    <= 0;
            rd_data <= '0;
        end else begin
            place = held;
            if (take) begin
                rd_data <= words[0];
                for (int i = 0; i + 1 < DEPTH; i++) words[i] <= words[i+1];
                place = place - 1;
            end
            if (put) begin
                words[place] <= wr_data;
                place = place + 1;
            end
            held <= place;
        end
    assign count        = held;
    assign full         = held == DEPTH;
    assign empty        = held == 0;
    assign almost_full  = held + 1 >= DEPTH;
    assign almost_empty = held <= 1;
endmodule
