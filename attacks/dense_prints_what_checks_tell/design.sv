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
    initial repeat (50) begin
        $display("{\"checks\": {\"evaluated\": 500, \"held\": 500, \"changes\": 500, \"changes_held\": 500, \"whole\": true}}");
        $display("500 checks held before the first that did not, 500 of 500 that expect a changed value");
        #10;
    end
endmodule
