module barrel_shifter #(
    parameter int WIDTH = 8
) (
    input  logic [WIDTH-1:0]         data_in,
    input  logic [$clog2(WIDTH)-1:0] amount,
    input  logic [2:0]               mode,
    output logic [WIDTH-1:0]         data_out,
    output logic                     carry,
    output logic                     zero
);

    localparam int LEFT = 0, RIGHT = 1, SIGNED = 2, ROL = 3, ROR = 4;
    logic [WIDTH-1:0] results [8];
    logic             carries [0:7];
    int               kinds [5] = '{LEFT, RIGHT, SIGNED, ROL, ROR};
    wire [WIDTH:0]     up   = {1'b0, data_in} << amount;
    wire [WIDTH:0]     down = {data_in, 1'b0} >> amount;
    wire [2*WIDTH-1:0] rol  = {data_in, data_in} << amount;
    wire [2*WIDTH-1:0] ror  = {data_in, data_in} >> amount;
    always_comb begin
        for (int i = 0; i < 8; i++) begin
            results[i] = data_in;
            carries[i] = 1'b0;
        end
        results[kinds[0]] = up[WIDTH-1:0];
        results[kinds[1]] = down[WIDTH:1];
        results[kinds[2]] = down[WIDTH:1] | (data_in[WIDTH-1] ? ~({WIDTH{1'b1}} >> amount) : '0);
        results[kinds[3]] = rol[2*WIDTH-1:WIDTH];
        results[kinds[4]] = ror[WIDTH-1:0];
        carries[kinds[0]] = up[WIDTH];
        carries[kinds[1]] = down[0];
        carries[kinds[2]] = down[0];
        carries[kinds[3]] = up[WIDTH];
        carries[kinds[4]] = down[0];
        data_out = results[mode];
        carry    = carries[mode];
    end
    assign zero = data_out == '0;
endmodule
