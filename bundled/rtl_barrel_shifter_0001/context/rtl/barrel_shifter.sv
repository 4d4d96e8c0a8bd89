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

    // TODO: arithmetic shift right, rotations, pass-through of the unused modes.
    always_comb begin
        case (mode)
            SHIFT_LEFT:  data_out = data_in << amount;
            SHIFT_RIGHT: data_out = data_in >> amount;
            default:     data_out = '0;
        endcase
    end

    // TODO: carry and zero flag.
    assign carry = 1'b0;
    assign zero  = 1'b0;

endmodule
