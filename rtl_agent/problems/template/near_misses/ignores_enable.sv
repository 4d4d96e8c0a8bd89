// near miss: counts without being enabled
module @MODULE@ (
    input  logic       clk,
    input  logic       rst,
    input  logic       en,
    output logic [3:0] count
);

    always_ff @(posedge clk) begin
        if (rst)
            count <= 4'd0;
        else
            count <= (count == 4'd9) ? 4'd0 : count + 4'd1;
    end

endmodule
