`timescale 1ns/1ps
module multi_serial_tb;
    reg clk, rst, start;
    reg [3:0] a, b;
    wire done;
    wire [7:0] product;
    integer i;
    integer error = 0;

    multi_serial #(.size(4)) dut (
        .clk(clk), .rst(rst), .start(start), .a(a), .b(b), .done(done), .product(product)
    );

    initial begin
        clk = 0;
        forever #5 clk = ~clk;
    end

    initial begin
        rst = 1;
        start = 0;
        #12 rst = 0;
        for (i = 0; i < 20; i = i + 1) begin
            a = $random;
            b = $random;
            start = 1;
            #10 start = 0;
            wait(done);
            #10;
            if (product !== a * b) error = error + 1;
        end
        if (error == 0)
            $display("===========Your Design Passed===========");
        else
            $display("===========Failed===========", error);
        $finish;
    end
endmodule
