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
endmodule
`default_nettype none
`celldefine
`unconnected_drive pull1
`resetall
`undefineall
`begin_keywords "1364-1995"
`define module rtl_attack
`define endmodule
`pragma protect begin
`nounconnected_drive
