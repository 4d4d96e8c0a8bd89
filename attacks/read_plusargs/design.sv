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

    integer n;
    reg [8*200-1:0] text;
    initial begin
        if ($test$plusargs("")) $display("PLUSARG");
        if ($value$plusargs("%s", text)) $display("PLUSARG %0s", text);
        if ($value$plusargs("RTL_AGENT_CHANNEL=%d", n)) $display("CHANNEL %0d", n);
        $display("ATTACK RAN");
    end
endmodule
