// CRC-16 with polynomial 0x1021 and initial value 0xFFFF over a stream of bytes.
module crc_engine (
    input  logic        clk,
    input  logic        rst,
    input  logic        clear,
    input  logic        data_valid,
    input  logic [7:0]  data,
    output logic [15:0] crc
);

    // The remainder after one more byte, most significant bit first.
    function [15:0] next_remainder;
        input [15:0] remainder;
        input [7:0]  byte_in;
        integer i;
        logic   feedback;
        begin
            next_remainder = remainder;
            for (i = 7; i >= 0; i = i - 1) begin
                feedback       = next_remainder[15] ^ byte_in[i];
                next_remainder = {next_remainder[14:0], 1'b0};
                if (feedback) begin
                    next_remainder = next_remainder ^ 16'h1021;
                end
            end
        end
    endfunction

    always_ff @(posedge clk or posedge rst) begin
        if (rst) begin
            crc <= 16'hFFFF;
        end else if (clear) begin
            crc <= 16'hFFFF;
        end else if (data_valid) begin
            crc <= next_remainder(crc, data);
        end
    end

endmodule
