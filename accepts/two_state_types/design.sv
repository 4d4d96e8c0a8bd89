module mod_counter #(
    parameter int WIDTH  = 4,
    parameter int MODULO = 10
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

    int present;
    bit at_top, at_zero;
    assign at_top  = present == MODULO - 1;
    assign at_zero = present == 0;
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n)        present <= 0;
        else if (load)     present <= int'(load_value) >= MODULO ? MODULO - 1 : int'(load_value);
        else if (en && up) present <= at_top ? 0 : present + 1;
        else if (en)       present <= at_zero ? MODULO - 1 : present - 1;
    assign count = present[WIDTH-1:0];
    assign tc    = en && !load && (up ? at_top : at_zero);
endmodule
