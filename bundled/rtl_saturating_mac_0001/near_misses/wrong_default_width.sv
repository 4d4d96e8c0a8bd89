// near miss: the default of ACC_W is 16 instead of 20
// Signed multiply-accumulate, two pipeline stages, every sum clipped to the accumulator's range.
module saturating_mac #(
    parameter int DATA_W = 8,
    parameter int ACC_W  = 16
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

    localparam logic signed [ACC_W-1:0] ACC_MAX = {1'b0, {(ACC_W-1){1'b1}}};
    localparam logic signed [ACC_W-1:0] ACC_MIN = {1'b1, {(ACC_W-1){1'b0}}};

    // Stage 1: the product and what goes with it.
    logic signed [2*DATA_W-1:0] product;
    logic                       product_valid;
    logic                       product_clear;

    always_ff @(posedge clk) begin
        if (!rst_n) begin
            product       <= '0;
            product_valid <= 1'b0;
            product_clear <= 1'b0;
        end else begin
            product       <= a * b;
            product_valid <= in_valid;
            product_clear <= clear;
        end
    end

    // Stage 2: one guard bit more than the accumulator shows an overflow as two different top bits.
    logic signed [ACC_W-1:0] base;
    logic signed [ACC_W:0]   sum;
    logic                    clipped;

    assign base    = product_clear ? {ACC_W{1'b0}} : acc;
    assign sum     = base + product;
    assign clipped = sum[ACC_W] != sum[ACC_W-1];

    always_ff @(posedge clk) begin
        if (!rst_n) begin
            out_valid <= 1'b0;
            acc       <= '0;
            saturated <= 1'b0;
        end else begin
            out_valid <= product_valid;
            if (!product_valid)
                acc <= base;
            else if (clipped)
                acc <= sum[ACC_W] ? ACC_MIN : ACC_MAX;
            else
                acc <= sum[ACC_W-1:0];
            saturated <= (saturated && !product_clear) || (product_valid && clipped);
        end
    end

endmodule
