module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);
    assign grant = 8'd0;
    assign valid = 1'b0;
    assign grant_index = 3'd0;

    reg [7:0] bytes [0:4095];
    reg [7:0] words [0:4095];
    integer i;
    initial begin
        bytes[0] = 8'd0;
        words[0] = 8'd0;
        $readmemh("/src/test_fixed_priority_arbiter.py", bytes);
        $readmemb("/src/test_runner.py", words);
        $display("LOOKED");
        for (i = 0; i < 4096; i = i + 1)
            if (bytes[i] > 8'd0 || words[i] > 8'd0) $display("FOUND %0d", i);
    end
endmodule
