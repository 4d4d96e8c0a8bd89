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

    integer fd, n;
    reg [8*100-1:0] line;
    reg [7:0] memory [0:255];
    initial begin
        fd = $fopen("@CANARY@", "r");
        if (fd != 0) begin n = $fgets(line, fd); $display("READ THE HOST: %0s", line); end
        fd = $fopen("@CANARY@", "a");
        if (fd != 0) begin $fwrite(fd, "rtl_attack was here"); $fclose(fd); $display("WROTE TO THE HOST"); end
        $readmemh("@CANARY@", memory);
        $display("ATTACK RAN");
    end
endmodule
