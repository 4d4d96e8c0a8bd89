// The arbiter's cocotb tests in Verilog: the same stimulus, cycle for cycle, and the same checks. The floor of a grade.
`timescale 1ns / 1ns
module bench;
    reg        clk = 0, reset = 1;
    reg  [7:0] req = 0, override = 0;
    wire [7:0] grant;
    wire       valid;
    wire [2:0] grant_index;
    integer    i, k, cycles = 0, wrong = 0;

    fixed_priority_arbiter dut (
        .clk(clk), .reset(reset), .req(req), .priority_override(override),
        .grant(grant), .valid(valid), .grant_index(grant_index)
    );

    always #5 clk = ~clk;
    always @(negedge clk) cycles = cycles + 1;

    task check(input r, input [7:0] q, input [7:0] o);
        reg [7:0] candidates, expected;
        reg [2:0] index;
        integer bit_number;
        begin
            candidates = (o != 0) ? o : q;
            expected = 0;
            index = 0;
            for (bit_number = 7; bit_number >= 0; bit_number = bit_number - 1)
                if (candidates[bit_number]) begin
                    expected = 8'd1 << bit_number;
                    index = bit_number[2:0];
                end
            if (r) begin
                expected = 0;
                index = 0;
            end
            if (grant !== expected || valid !== |expected || grant_index !== index) wrong = wrong + 1;
        end
    endtask

    task start;
        begin
            reset = 1;
            req = 0;
            override = 0;
            @(negedge clk);
            @(negedge clk);
            reset = 0;
        end
    endtask

    task step(input [7:0] q, input [7:0] o, input r);
        begin
            req = q;
            override = o;
            reset = r;
            @(negedge clk);
            check(r, q, o);
        end
    endtask

    task change(input [7:0] q, input [7:0] o, input [7:0] then_q, input [7:0] then_o);
        begin
            step(q, o, 0);
            req = then_q;
            override = then_o;
            #3 check(0, q, o);
            @(negedge clk);
            check(0, then_q, then_o);
        end
    endtask

    function [7:0] vector(input integer number);  // seven of each winner: alone, with all above, with some above
        case (number % 7)
            0:       vector = 8'd1 << (number / 7);
            1:       vector = 8'hff << (number / 7);
            default: vector = ($random | 8'd1) << (number / 7);
        endcase
    endfunction

    reg [7:0] q, o;
    initial begin
        start;  // the lowest request wins
        step(0, 0, 0);
        for (i = 0; i < 56; i = i + 1) step(vector(i), 0, 0);
        step(0, 0, 0);

        start;  // override beats requests
        for (i = 0; i < 56; i = i + 1) step($random, vector(i), 0);
        for (i = 0; i < 8; i = i + 1) begin
            step(0, 8'd1 << i, 0);
            step(~(8'd1 << i), 8'd1 << i, 0);
            step(8'hff, 8'd1 << i, 0);
        end

        start;  // random traffic with resets
        for (i = 0; i < 60; i = i + 1) step($random, ($random & 1) ? $random : 0, $urandom % 10 == 0);

        start;  // outputs change only on rising edges
        change(8'h80, 0, 8'h01, 0);
        change(8'h01, 0, 8'h01, 8'h40);
        change(0, 0, 8'hff, 8'hff);
        change(8'hf0, 0, 0, 0);

        start;  // reset under load
        for (i = 0; i < 5; i = i + 1) begin
            q = $random | 1;
            o = $random;
            for (k = 0; k < 4; k = k + 1) step(q, o, k == 1 || k == 2);
        end

        start;  // reset between edges has no effect
        step(8'h30, 0, 0);
        reset = 1;
        #2 check(0, 8'h30, 0);
        reset = 0;
        #1 check(0, 8'h30, 0);
        step(8'h30, 0, 0);
        step(8'h30, 8'h80, 1);
        reset = 0;
        #2 check(1, 0, 0);
        step(8'h30, 8'h80, 0);

        if (wrong == 0) $display("%0d cycles, all right", cycles);
        else $display("%0d checks failed", wrong);
        $finish;
    end
endmodule
