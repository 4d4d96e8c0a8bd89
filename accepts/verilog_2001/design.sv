module barrel_shifter #(parameter WIDTH = 8) (
    input  wire [WIDTH-1:0]         data_in,
    input  wire [$clog2(WIDTH)-1:0] amount,
    input  wire [2:0]               mode,
    output reg  [WIDTH-1:0]         data_out,
    output reg                      carry,
    output wire                     zero
);
    reg [2*WIDTH-1:0] wide;
    always @* begin
        carry = 1'b0;
        wide  = {2*WIDTH{1'b0}};
        case (mode)
            3'd0: begin {carry, data_out} = {1'b0, data_in} << amount; end
            3'd1: begin {data_out, carry} = {data_in, 1'b0} >> amount; end
            3'd2: begin {data_out, carry} = $signed({data_in, 1'b0}) >>> amount; end
            3'd3: begin
                wide     = {data_in, data_in} << amount;
                data_out = wide[2*WIDTH-1:WIDTH];
                carry    = amount != 0 && data_out[0];
            end
            3'd4: begin
                wide     = {data_in, data_in} >> amount;
                data_out = wide[WIDTH-1:0];
                carry    = amount != 0 && data_out[WIDTH-1];
            end
            default: data_out = data_in;
        endcase
    end
    assign zero = ~|data_out;
endmodule
