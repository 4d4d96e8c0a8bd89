// ALU with registered result and flags: eleven operations, unknown opcodes are reported.
module alu #(
    parameter WIDTH = 8
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             in_valid,
    input  logic [3:0]       op,
    input  logic [WIDTH-1:0] a,
    input  logic [WIDTH-1:0] b,
    output logic             out_valid,
    output logic [WIDTH-1:0] result,
    output logic             zero,
    output logic             negative,
    output logic             carry,
    output logic             overflow,
    output logic             illegal
);

    localparam SHIFT_WIDTH = $clog2(WIDTH);

    localparam [3:0] OP_ADD  = 4'd0;
    localparam [3:0] OP_SUB  = 4'd1;
    localparam [3:0] OP_AND  = 4'd2;
    localparam [3:0] OP_OR   = 4'd3;
    localparam [3:0] OP_XOR  = 4'd4;
    localparam [3:0] OP_SLL  = 4'd5;
    localparam [3:0] OP_SRL  = 4'd6;
    localparam [3:0] OP_SRA  = 4'd7;
    localparam [3:0] OP_SLT  = 4'd8;
    localparam [3:0] OP_SLTU = 4'd9;
    localparam [3:0] OP_ADC  = 4'd10;

    logic                   sign;
    logic [SHIFT_WIDTH-1:0] amount;
    logic                   carry_in;
    logic [WIDTH-1:0]       sum;
    logic                   sum_carry;
    logic                   sum_overflow;
    logic [WIDTH-1:0]       difference;
    logic                   borrow;
    logic                   difference_overflow;
    logic                   less;
    logic [WIDTH-1:0]       left;
    logic                   left_out;  // last bit shifted out
    logic [WIDTH-1:0]       right;
    logic                   right_out;
    logic [WIDTH-1:0]       sign_fill;
    logic [WIDTH-1:0]       value;
    logic                   value_carry;
    logic                   value_overflow;
    logic                   value_illegal;

    assign sign     = a[WIDTH-1];
    assign amount   = b[SHIFT_WIDTH-1:0];
    assign carry_in = (op == OP_ADC) && carry;

    assign {sum_carry, sum}     = {1'b0, a} + {1'b0, b} + {{WIDTH{1'b0}}, carry_in};
    assign {borrow, difference} = {1'b0, a} - {1'b0, b};

    assign sum_overflow        = (sign == b[WIDTH-1]) && (sum[WIDTH-1] != sign);
    assign difference_overflow = (sign != b[WIDTH-1]) && (difference[WIDTH-1] != sign);
    assign less                = difference[WIDTH-1] ^ difference_overflow;

    assign {left_out, left}   = {1'b0, a} << amount;
    assign {right, right_out} = {a, 1'b0} >> amount;
    assign sign_fill          = ~({WIDTH{1'b1}} >> amount);

    always_comb begin
        value          = '0;
        value_carry    = 1'b0;
        value_overflow = 1'b0;
        value_illegal  = 1'b0;
        case (op)
            OP_ADD, OP_ADC: begin
                value          = sum;
                value_carry    = sum_carry;
                value_overflow = sum_overflow;
            end
            OP_SUB: begin
                value          = difference;
                value_carry    = borrow;
                value_overflow = difference_overflow;
            end
            OP_AND: value = a & b;
            OP_OR:  value = a | b;
            OP_XOR: value = a ^ b;
            OP_SLL: begin
                value       = left;
                value_carry = left_out;
            end
            OP_SRL: begin
                value       = right;
                value_carry = right_out;
            end
            OP_SRA: begin
                value       = sign ? (right | sign_fill) : right;
                value_carry = right_out;
            end
            OP_SLT:  value = {{(WIDTH - 1){1'b0}}, less};
            OP_SLTU: value = {{(WIDTH - 1){1'b0}}, borrow};
            default: value_illegal = 1'b1;
        endcase
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            out_valid <= 1'b0;
            result    <= '0;
            zero      <= 1'b1;
            negative  <= 1'b0;
            carry     <= 1'b0;
            overflow  <= 1'b0;
            illegal   <= 1'b0;
        end else begin
            out_valid <= in_valid;
            if (in_valid) begin
                result   <= value;
                zero     <= (value == '0);
                negative <= value[WIDTH-1];
                carry    <= value_carry;
                overflow <= value_overflow;
                illegal  <= value_illegal;
            end
        end
    end

endmodule
