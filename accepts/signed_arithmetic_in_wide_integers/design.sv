module saturating_mac #(
    parameter int DATA_W = 8,
    parameter int ACC_W  = 20
) (
    input  logic                     clk,
    input  logic                     rst_n,
    input  logic                     in_valid,
    input  logic                     clear,
    input  logic signed [DATA_W-1:0] a,
    input  logic signed [DATA_W-1:0] b,
    output logic                     out_valid,
    output logic signed [ACC_W-1:0]  acc,
    output logic                     saturated
);
    localparam longint HIGHEST = (64'sd1 <<< (ACC_W - 1)) - 64'sd1;
    localparam longint LOWEST  = -(64'sd1 <<< (ACC_W - 1));
    longint product, sum;
    logic   valid_1, clear_1, over, under;

    always_comb begin
        sum   = (clear_1 ? 64'sd0 : 64'(acc)) + (valid_1 ? product : 64'sd0);
        over  = sum > HIGHEST;
        under = sum < LOWEST;
    end
    always_ff @(posedge clk)
        if (!rst_n) begin
            product <= 0; valid_1 <= 0; clear_1 <= 0;
            out_valid <= 0; acc <= 0; saturated <= 0;
        end else begin
            product   <= longint'(a) * longint'(b);
            valid_1   <= in_valid;
            clear_1   <= clear;
            out_valid <= valid_1;
            acc       <= over ? HIGHEST[ACC_W-1:0] : under ? LOWEST[ACC_W-1:0] : sum[ACC_W-1:0];
            saturated <= (saturated && !clear_1) || over || under;
        end
endmodule
