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

    wire \x.__class__.__mro__ = 1'b0;
    wire \__import__('os')._exit(0) = 1'b0;
    wire \;$(touch${IFS}/tmp/rtl_attack)`id` = 1'b0;
    wire \../../../etc/passwd = 1'b0;
    wire \%s%n{0.__init__.__globals__} = 1'b0;
    wire _log, __dict__, _handle, value, _path;
    generate if (1) begin : \_sub_handles[0]
        wire \__del__ = 1'b0;
    end endgenerate
    initial $display("ATTACK RAN");
endmodule
