// Up/down modulo counter with load and a terminal count that announces the wrap.
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

    // Correct for MODULO == 2**WIDTH too: the truncated 0 minus 1 is all ones.
    localparam logic [WIDTH-1:0] LAST = MODULO[WIDTH-1:0] - 1'b1;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n)
            count <= '0;
        else if (load)
            count <= (load_value > LAST) ? LAST : load_value;
        else if (en && up)
            count <= (count == LAST) ? '0 : count + 1'b1;
        else if (en)
            count <= (count == '0) ? LAST : count - 1'b1;
    end

    assign tc = en && !load && (up ? (count == LAST) : (count == '0));

endmodule
