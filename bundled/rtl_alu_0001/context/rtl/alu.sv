// ALU with registered result: five operations, unknown opcodes pass operand a.
module alu #(
    parameter WIDTH = 8
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             in_valid,
    input  logic [2:0]       op,
    input  logic [WIDTH-1:0] a,
    input  logic [WIDTH-1:0] b,
    output logic             out_valid,
    output logic [WIDTH-1:0] result,
    output logic             zero
);

    localparam [2:0] OP_ADD = 3'd0;
    localparam [2:0] OP_SUB = 3'd1;
    localparam [2:0] OP_AND = 3'd2;
    localparam [2:0] OP_OR  = 3'd3;
    localparam [2:0] OP_XOR = 3'd4;

    logic [WIDTH-1:0] value;

    always_comb begin
        case (op)
            OP_ADD:  value = a + b;
            OP_SUB:  value = a - b;
            OP_AND:  value = a & b;
            OP_OR:   value = a | b;
            OP_XOR:  value = a ^ b;
            default: value = a;
        endcase
    end

    always_ff @(posedge clk) begin
        if (rst) begin
            out_valid <= 1'b0;
            result    <= '0;
            zero      <= 1'b1;
        end else begin
            out_valid <= in_valid;
            if (in_valid) begin
                result <= value;
                zero   <= (value == '0);
            end
        end
    end

endmodule
