// Ports in the style of 1995.
module popcount (clk, rst_n, in_valid, data, out_valid, count, majority);
    input clk, rst_n;
    input in_valid;
    input [31:0] data;
    output out_valid, majority;
    output [5:0] count;
    reg out_valid, majority;
    reg [5:0] count;

    reg [5:0] total;
    integer i;

    always @(data) begin
        total = 6'd0;
        for (i = 0; i < 32; i = i + 1)
            total = total + {5'd0, data[i]};
    end

    always @(posedge clk) begin
        if (!rst_n) begin
            out_valid <= 1'b0;
            count     <= 6'd0;
            majority  <= 1'b0;
        end else begin
            out_valid <= in_valid;
            if (in_valid) begin
                count    <= total;
                majority <= (total > 6'd16);
            end
        end
    end

endmodule
