// near miss: copies the override vector to grant, which is not one-hot when several bits are set
module fixed_priority_arbiter (
    input            clk,
    input            reset,
    input      [7:0] req,
    input      [7:0] priority_override,
    output reg [7:0] grant,
    output reg       valid,
    output reg [2:0] grant_index
);

    function [2:0] lowest;
        input [7:0] v;
        begin
            if      (v[0]) lowest = 3'd0;
            else if (v[1]) lowest = 3'd1;
            else if (v[2]) lowest = 3'd2;
            else if (v[3]) lowest = 3'd3;
            else if (v[4]) lowest = 3'd4;
            else if (v[5]) lowest = 3'd5;
            else if (v[6]) lowest = 3'd6;
            else if (v[7]) lowest = 3'd7;
            else           lowest = 3'd0;
        end
    endfunction

    always @(posedge clk) begin
        if (reset) begin
            grant       <= 8'd0;
            valid       <= 1'b0;
            grant_index <= 3'd0;
        end else if (priority_override != 8'd0) begin
            grant       <= priority_override;
            valid       <= 1'b1;
            grant_index <= lowest(priority_override);
        end else if (req != 8'd0) begin
            grant       <= 8'd1 << lowest(req);
            valid       <= 1'b1;
            grant_index <= lowest(req);
        end else begin
            grant       <= 8'd0;
            valid       <= 1'b0;
            grant_index <= 3'd0;
        end
    end

endmodule
