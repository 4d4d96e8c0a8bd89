// Counts in binary, shows the count in Gray code.
module gray_counter #(
    parameter WIDTH = 4
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             enable,
    input  logic             load,
    input  logic [WIDTH-1:0] load_value,
    output logic [WIDTH-1:0] gray,
    output logic             wrapped
);

    logic [WIDTH-1:0] count;
    logic [WIDTH-1:0] next_count;

    always_comb begin
        next_count = count;
        if (load) begin
            next_count = load_value;
        end else if (enable) begin
            next_count = count + 1'b1;
        end
    end

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            count   <= '0;
            gray    <= '0;
            wrapped <= 1'b0;
        end else begin
            count   <= next_count;
            gray    <= next_count ^ (next_count >> 1);
            wrapped <= enable && !load && (&count);
        end
    end

endmodule
