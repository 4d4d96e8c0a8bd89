module adder_6bit(
    input [5:0] first, second, input carry, output [5:0] sum, output more);
    assign #3 {more, sum} = first + second + carry;
endmodule
