// near miss: the rotations leave the carry at 0
// Barrel shifter: logical and arithmetic shifts, rotations, carry and zero flag.
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

    localparam logic [2:0] SHIFT_LEFT             = 3'b000;
    localparam logic [2:0] SHIFT_RIGHT            = 3'b001;
    localparam logic [2:0] SHIFT_RIGHT_ARITHMETIC = 3'b010;
    localparam logic [2:0] ROTATE_LEFT            = 3'b011;
    localparam logic [2:0] ROTATE_RIGHT           = 3'b100;

    // The operand twice in a row: a rotation is a shift of the pair.
    logic [2*WIDTH-1:0] pair;
    logic [2*WIDTH-1:0] pair_left;
    logic [2*WIDTH-1:0] pair_right;
    // One more bit than the operand catches the last bit that leaves.
    logic [WIDTH:0]     leaves_top;
    logic [WIDTH:0]     leaves_bottom;
    logic [WIDTH-1:0]   sign_fill;

    assign pair          = {data_in, data_in};
    assign pair_left     = pair << amount;
    assign pair_right    = pair >> amount;
    assign leaves_top    = {1'b0, data_in} << amount;
    assign leaves_bottom = {data_in, 1'b0} >> amount;
    assign sign_fill     = data_in[WIDTH-1] ? ~({WIDTH{1'b1}} >> amount) : '0;

    always_comb begin
        case (mode)
            SHIFT_LEFT: begin
                data_out = data_in << amount;
                carry    = leaves_top[WIDTH];
            end
            SHIFT_RIGHT: begin
                data_out = data_in >> amount;
                carry    = leaves_bottom[0];
            end
            SHIFT_RIGHT_ARITHMETIC: begin
                data_out = (data_in >> amount) | sign_fill;
                carry    = leaves_bottom[0];
            end
            ROTATE_LEFT: begin
                data_out = pair_left[2*WIDTH-1:WIDTH];
                carry    = 1'b0;
            end
            ROTATE_RIGHT: begin
                data_out = pair_right[WIDTH-1:0];
                carry    = 1'b0;
            end
            default: begin
                data_out = data_in;
                carry    = 1'b0;
            end
        endcase
    end

    assign zero = (data_out == '0);

endmodule
