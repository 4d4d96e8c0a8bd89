package pattern_pkg;
    localparam int                LENGTH  = 6;
    localparam logic [LENGTH-1:0] PATTERN = 6'b101101;
endpackage

module sequence_detector (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       bit_valid,
    input  logic       bit_in,
    output logic       detected,
    output logic [3:0] match_count
);

    logic [pattern_pkg::LENGTH-2:0] past;
    logic                           match;
    assign match = bit_valid && {past, bit_in} == pattern_pkg::PATTERN;
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            past        <= '0;
            detected    <= 1'b0;
            match_count <= '0;
        end else begin
            if (bit_valid) past <= {past[pattern_pkg::LENGTH-3:0], bit_in};
            detected    <= match;
            match_count <= match_count + (match && match_count != '1);
        end
endmodule
