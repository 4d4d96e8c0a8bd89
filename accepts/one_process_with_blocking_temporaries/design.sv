module sequence_detector (
    input  logic       clk,
    input  logic       rst_n,
    input  logic       bit_valid,
    input  logic       bit_in,
    output logic       detected,
    output logic [3:0] match_count
);

    logic [4:0] past;
    always_ff @(posedge clk or negedge rst_n) begin : everything
        logic       match;
        logic [5:0] window;
        if (!rst_n) begin
            past        <= '0;
            detected    <= '0;
            match_count <= '0;
        end else begin
            window = {past, bit_in};
            match  = bit_valid && window == 6'b101101;
            if (bit_valid) past <= window[4:0];
            if (match && match_count < 15) match_count <= match_count + 1;
            detected <= match;
        end
    end
endmodule
