primitive exclusive_or (output y, input a, input b);
    table
        0 0 : 0;
        0 1 : 1;
        1 0 : 1;
        1 1 : 0;
    endtable
endprimitive

primitive flip_flop (q, d, clk, rst_n);
    output q;
    reg    q;
    input  d, clk, rst_n;
    table
        // d clk rst_n : q : next
        0 (01) 1 : ? : 0;
        1 (01) 1 : ? : 1;
        ? (1?) 1 : ? : -;
        ? (x0) 1 : ? : -;
        * ?    1 : ? : -;
        ? ?    0 : ? : 0;
        ? ? (01) : ? : -;
        ? ? (x1) : ? : -;
        * ?    0 : ? : 0;
        ? *    0 : ? : 0;
    endtable
endprimitive

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
    wire [WIDTH-1:0] count;
    wire [WIDTH-1:0] following = load ? load_value : enable ? count + 1'b1 : count;
    wire [WIDTH-1:0] encoded;
    genvar i;
    for (i = 0; i < WIDTH; i = i + 1) begin : bits
        flip_flop binary (count[i], following[i], clk, rst_n);
        flip_flop coded (gray[i], encoded[i], clk, rst_n);
        if (i == WIDTH - 1) begin : top
            assign encoded[i] = following[i];
        end else begin : below
            exclusive_or x (encoded[i], following[i], following[i+1]);
        end
    end
    flip_flop wrap (wrapped, enable & ~load & (&count), clk, rst_n);
endmodule
