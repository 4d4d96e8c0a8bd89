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
        look("/dev/shm/rtl_attack_bit"); look("/dev/mqueue/rtl_attack_bit"); look("/dev/pts/rtl_attack_bit");
        look("/dev/rtl_attack_bit"); look("/dev/hugepages/rtl_attack_bit"); look("/run/shm/rtl_attack_bit");
        look("/run/lock/rtl_attack_bit"); look("/run/rtl_attack_bit"); look("/var/tmp/rtl_attack_bit");
        look("/var/run/rtl_attack_bit"); look("/var/lock/rtl_attack_bit"); look("/dev/shm/./rtl_attack_bit");
        look("/dev/fd/rtl_attack_bit"); look("/dev/shm/sem.rtl_attack"); look("/dev/mqueue/rtl_attack");
        leave("/dev/shm/rtl_attack_bit"); leave("/dev/mqueue/rtl_attack_bit"); leave("/dev/pts/rtl_attack_bit");
        leave("/dev/rtl_attack_bit"); leave("/dev/hugepages/rtl_attack_bit"); leave("/run/shm/rtl_attack_bit");
        leave("/run/lock/rtl_attack_bit"); leave("/run/rtl_attack_bit"); leave("/var/tmp/rtl_attack_bit");
        leave("/var/run/rtl_attack_bit"); leave("/var/lock/rtl_attack_bit"); leave("/dev/shm/./rtl_attack_bit");
        leave("/dev/fd/rtl_attack_bit"); leave("/dev/shm/sem.rtl_attack"); leave("/dev/mqueue/rtl_attack");
        $display("ATTACK RAN");
    end
endmodule
