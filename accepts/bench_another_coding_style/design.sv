module TopModule (
    input clk,
    input reset,
    input up,
    output reg [2:0] q
);
    reg [2:0] next;
    always @* begin
        next = q;
        case ({up, q})
            4'b1_111, 4'b0_000: next = q;
            default: next = up ? q + 3'd1 : q - 3'd1;
        endcase
        if (reset) next = 3'd3;
    end
    always @(posedge clk) q <= next;
endmodule
