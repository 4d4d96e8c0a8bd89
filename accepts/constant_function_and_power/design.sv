module mod_counter #(
    parameter WIDTH  = 4,
    parameter MODULO = 10
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
    function integer highest(input integer states);
        integer i;
        begin
            highest = 0;
            for (i = 1; i < states; i = i + 1) highest = highest + 1;
        end
    endfunction
    localparam TOP   = highest(MODULO);
    localparam WHOLE = MODULO == 2 ** WIDTH;
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n)        count <= 0;
        else if (load)     count <= !WHOLE && load_value > TOP ? TOP : load_value;
        else if (en && up) count <= count == TOP ? 0 : count + 1;
        else if (en)       count <= count == 0 ? TOP : count - 1;
    assign tc = en && !load && (up ? count == TOP : count == 0);
endmodule
