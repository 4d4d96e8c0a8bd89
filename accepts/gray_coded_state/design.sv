module gray_counter #(
    parameter WIDTH = 4
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             enable,
    input  logic             load,
    input  logic [WIDTH-1:0] load_value,
    output logic [WIDTH-1:0] gray,
    output logic             wrapped
);

    logic [WIDTH-1:0] flip;
    logic             odd;
    assign odd = ^gray;
    always_comb begin
        flip = '0;
        if (!odd) flip[0] = 1'b1;
        else begin
            flip[WIDTH-1] = 1'b1;
            for (int i = WIDTH - 2; i >= 1; i--)
                if (gray[i-1] && (gray & ((WIDTH'(1) << (i - 1)) - WIDTH'(1))) == '0) flip = WIDTH'(1) << i;
        end
    end
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            gray    <= '0;
            wrapped <= 1'b0;
        end else begin
            wrapped <= 1'b0;
            if (load) gray <= load_value ^ (load_value >> 1);
            else if (enable) begin
                gray    <= gray ^ flip;
                wrapped <= gray == WIDTH'(1) << (WIDTH - 1);
            end
        end
endmodule
