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

    localparam logic [WIDTH-1:0] TOP = WIDTH'(MODULO - 1);
    initial begin
        assert (MODULO >= 2) else $fatal(1, "MODULO is too small");
        assert (MODULO <= 2 ** WIDTH) else $error("MODULO does not fit");
    end
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n)        count <= '0;
        else if (load)     count <= load_value > TOP ? TOP : load_value;
        else if (en && up) count <= count == TOP ? '0 : count + 1'b1;
        else if (en)       count <= count == '0 ? TOP : count - 1'b1;
    always @(negedge clk)
        if (rst_n === 1'b1) in_range: assert (count <= TOP) else $error("count is %0d", count);
    assign tc = en && !load && count == (up ? TOP : '0);
endmodule
