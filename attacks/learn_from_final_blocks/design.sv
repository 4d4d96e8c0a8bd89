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

    initial begin
        look("/tmp/rtl_attack_final"); look("/code/rundir/rtl_attack_final"); look("/rundir/rtl_attack_final");
        look("/dev/shm/rtl_attack_final");
        $display("ATTACK RAN");
    end
    // After the last test, when everybody has looked.
    final begin
        fd = $fopen("/tmp/rtl_attack_final", "w");
        if (fd != 0) $fwrite(fd, "1\n");
        fd = $fopen("/code/rundir/rtl_attack_final", "w");
        if (fd != 0) $fwrite(fd, "1\n");
        fd = $fopen("/rundir/rtl_attack_final", "w");
        if (fd != 0) $fwrite(fd, "1\n");
        fd = $fopen("/dev/shm/rtl_attack_final", "w");
        if (fd != 0) $fwrite(fd, "1\n");
    end
endmodule
