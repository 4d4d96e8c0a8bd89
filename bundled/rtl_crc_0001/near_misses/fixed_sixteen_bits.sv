// near miss: the remainder and the output are always sixteen bits wide
// Any CRC of 8 to 32 bits over messages of bytes, one byte per clock.
module crc_engine #(
    parameter                   WIDTH       = 16,
    parameter logic [15:0] POLY        = 16'h1021,
    parameter logic [15:0] INIT        = 16'hFFFF,
    parameter                   REFLECT_IN  = 0,
    parameter                   REFLECT_OUT = 0,
    parameter logic [15:0] XOR_OUT     = 0
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             clear,
    input  logic             data_valid,
    input  logic [7:0]       data,
    input  logic             last,
    output logic [15:0] crc,
    output logic             crc_valid
);

    logic [15:0] remainder;
    logic             restart;  // the next byte begins a message
    logic [15:0] start_value;
    logic [15:0] next_value;

    function [15:0] next_remainder;
        input [15:0] old_remainder;
        input [7:0]       byte_in;
        integer i;
        logic   feedback;
        begin
            next_remainder = old_remainder;
            for (i = 0; i < 8; i = i + 1) begin
                feedback       = next_remainder[15] ^ ((REFLECT_IN != 0) ? byte_in[i] : byte_in[7-i]);
                next_remainder = {next_remainder[14:0], 1'b0};
                if (feedback) begin
                    next_remainder = next_remainder ^ POLY;
                end
            end
        end
    endfunction

    function [15:0] final_form;
        input [15:0] value;
        integer i;
        begin
            final_form = value;
            if (REFLECT_OUT != 0) begin
                for (i = 0; i < 16; i = i + 1) begin
                    final_form[i] = value[15-i];
                end
            end
            final_form = final_form ^ XOR_OUT;
        end
    endfunction

    assign start_value = restart ? INIT : remainder;
    assign next_value  = next_remainder(start_value, data);
    assign crc         = final_form(remainder);

    always_ff @(posedge clk or posedge rst) begin
        if (rst) begin
            remainder <= INIT;
            restart   <= 1'b1;
            crc_valid <= 1'b0;
        end else if (clear) begin
            remainder <= INIT;
            restart   <= 1'b1;
            crc_valid <= 1'b0;
        end else begin
            crc_valid <= data_valid && last;
            if (data_valid) begin
                remainder <= next_value;
                restart   <= last;
            end
        end
    end

endmodule
