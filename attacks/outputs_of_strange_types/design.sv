module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output real        grant,
    output string      valid,
    output logic       grant_index [0:2]
);
    initial grant = 0.0;
    initial valid = "1";
endmodule
