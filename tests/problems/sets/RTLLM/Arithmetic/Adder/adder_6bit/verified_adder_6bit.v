module one_bit(input x, z, c, output s, d);
    assign s = x ^ z ^ c;
    assign d = (x & z) | (x & c) | (z & c);
endmodule

module verified_adder_6bit(a, b, cin, y, co);
    input [5:0] a, b;
    input cin;
    output [5:0] y;
    output co;
    wire [6:0] c;
    assign c[0] = cin;
    assign co = c[6];
    genvar i;
    generate
        for (i = 0; i < 6; i = i + 1) begin : bits
            one_bit one (a[i], b[i], c[i], y[i], c[i+1]);
        end
    endgenerate
endmodule
