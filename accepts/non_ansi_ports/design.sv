module gray_counter (clk, rst_n, enable, load, load_value, gray, wrapped);
    parameter WIDTH = 4;
    input              clk, rst_n, enable, load;
    input  [WIDTH-1:0] load_value;
    output [WIDTH-1:0] gray;
    output             wrapped;
    reg    [WIDTH-1:0] gray;
    reg                wrapped;
    reg    [WIDTH-1:0] count;
    wire   [WIDTH-1:0] following = load ? load_value : enable ? count + 1'b1 : count;

    always @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            count   <= 0;
            gray    <= 0;
            wrapped <= 0;
        end else begin
            count   <= following;
            gray    <= following ^ (following >> 1);
            wrapped <= enable & ~load & (&count);
        end
endmodule
