`timescale 1ns/1ns
module testbench;
    reg [5:0] a, b;
    reg cin;
    wire [5:0] y;
    wire co;
    reg [6:0] expected;
    reg [12:0] operands [0:3];
    integer i;
    integer error = 0;

    adder_6bit uut (a, b, cin, y, co);

    initial begin
        $readmemh("operands.dat", operands);
        for (i = 0; i < 4; i = i + 1) begin
            {a, b, cin} = operands[i];
            expected = a + b + cin;
            #10;
            error = ({co, y} !== expected) ? error + 1 : error;
        end
        for (i = 0; i < 100; i = i + 1) begin
            a = $random; b = $random; cin = $random;
            expected = a + b + cin;
            #10;
            if ({co, y} !== expected) begin
                error = error + 1;
                $display("Failed: a = %d, b = %d, expected %d, got %d", a, b, expected, {co, y});
            end
        end
        if (error == 0) begin
            $display("===========Your Design Passed===========");
        end
        else begin
            $display("===========Test completed with %d /104 failures===========", error);
        end
        $finish;
    end
endmodule
