module mod_counter #(
    parameter int unsigned MODULO = 10,
    parameter [31:0]       WIDTH  = 4
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             en,
    input  logic             up,
    input  logic             load,
    input  logic [WIDTH-1:0] load_value,
    output logic [WIDTH-1:0] count,
    output logic             tc
);
    localparam logic [WIDTH-1:0] TOP = WIDTH'(MODULO - 1);
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n)        count <= '0;
        else if (load)     count <= load_value > TOP ? TOP : load_value;
        else if (en && up) count <= count == TOP ? '0 : count + 1'b1;
        else if (en)       count <= count == '0 ? TOP : count - 1'b1;
    assign tc = en && !load && count == (up ? TOP : '0);
endmodule
