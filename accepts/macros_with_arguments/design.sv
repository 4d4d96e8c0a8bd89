`define LAST(n, w)        (w'((n) - 1))
`define STEP(c, by = 1)   (c + by)
`define WRAP(c, at, to)   ((c) == (at) ? (to) : `STEP(c))
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

    localparam logic [WIDTH-1:0] TOP = `LAST(MODULO, WIDTH);
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n)        count <= '0;
        else if (load)     count <= load_value > TOP ? TOP : load_value;
        else if (en && up) count <= `WRAP(count, TOP, '0);
        else if (en)       count <= count == '0 ? TOP : count - 1'b1;
    assign tc = en && !load && count == (up ? TOP : '0);
endmodule
`undef WRAP
`undef STEP
`undef LAST
