module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);
    assign valid = 1'b0;
    assign grant_index = 3'd0;

    integer fd, n, value;
    initial begin
        fd = $fopen("/code/verif/vectors.txt", "r");
        if (fd == 0) $display("NOTHING TO READ");
        grant = 8'd0;
    end
    always @(posedge clk) if (fd != 0) begin
        n = $fscanf(fd, "%d", value);
        grant = value[7:0];
    end
endmodule
