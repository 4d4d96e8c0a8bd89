// near miss: the pointers wrap by overflow, which is right only for depths that are powers of two
// FIFO of any depth with registered read data; at full a read makes room for a write at the same edge.
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

    localparam POINTER_WIDTH = $clog2(DEPTH);
    localparam COUNT_WIDTH   = $clog2(DEPTH + 1);

    localparam [POINTER_WIDTH-1:0] LAST     = POINTER_WIDTH'(DEPTH - 1);
    localparam [COUNT_WIDTH-1:0]   CAPACITY = COUNT_WIDTH'(DEPTH);

    logic [DATA_WIDTH-1:0]    storage [0:DEPTH-1];
    logic [POINTER_WIDTH-1:0] write_pointer;
    logic [POINTER_WIDTH-1:0] read_pointer;
    logic                     read_accepted;
    logic                     write_accepted;

    assign full         = (count == CAPACITY);
    assign empty        = (count == 0);
    assign almost_full  = (count >= CAPACITY - 1'b1);
    assign almost_empty = (count <= 1);

    assign read_accepted  = rd_en && !empty;
    assign write_accepted = wr_en && (!full || read_accepted);

    always_ff @(posedge clk) begin
        if (!rst_n) begin
            write_pointer <= '0;
            read_pointer  <= '0;
            count         <= '0;
            rd_data       <= '0;
        end else begin
            if (write_accepted) begin
                storage[write_pointer] <= wr_data;
                write_pointer          <= write_pointer + 1'b1;
            end
            if (read_accepted) begin
                rd_data      <= storage[read_pointer];
                read_pointer <= read_pointer + 1'b1;
            end
            if (write_accepted && !read_accepted) begin
                count <= count + 1'b1;
            end else if (read_accepted && !write_accepted) begin
                count <= count - 1'b1;
            end
        end
    end

endmodule
