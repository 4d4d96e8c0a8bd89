module binary_to_gray #(parameter N = 2) (input logic [N-1:0] binary, output logic [N-1:0] gray);
    assign gray = binary ^ (binary >> 1);
endmodule

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
    logic [WIDTH-1:0] count, following, encoded;
    logic             wraps;
    next_count #(.WIDTH(WIDTH)) u_next (.*);
    binary_to_gray #(.N(WIDTH)) u_gray (.binary(following), .gray(encoded));
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) {count, gray, wrapped} <= '0;
        else        {count, gray, wrapped} <= {following, encoded, wraps};
endmodule

module next_count #(parameter WIDTH = 4) (
    input  logic             enable, load,
    input  logic [WIDTH-1:0] load_value, count,
    output logic [WIDTH-1:0] following,
    output logic             wraps
);
    assign following = load ? load_value : count + WIDTH'(enable);
    assign wraps     = enable && !load && &count;
endmodule
