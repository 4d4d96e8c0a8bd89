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

    longint present, following;
    always_comb begin
        following = present;
        if (load) following = load_value >= MODULO ? MODULO - 1 : load_value;
        else if (en && up) begin
            following++;
            if (following == MODULO) following -= MODULO;
        end else if (en) begin
            following += MODULO;
            following--;
            following %= MODULO;
        end
    end
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) present <= 0;
        else        present <= following;
    assign count = present;
    assign tc    = en & ~load & (up ? present == MODULO - 1 : present == 0);
endmodule
