`default_nettype none
module locking_arbiter (
    input  wire logic       clk,
    input  wire logic       rst_n,
    input  wire logic [3:0] req,
    input  wire logic       lock,
    output logic [3:0] grant,
    output logic [1:0] grant_id,
    output logic       busy
);

    logic       hold;
    logic [3:0] winner;
    assign hold   = lock && |(req & grant);
    assign winner = req[3] ? 4'b1000 : req[2] ? 4'b0100 : req[1] ? 4'b0010 : {3'b000, req[0]};
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) {grant, grant_id, busy} <= '0;
        else if (!hold) begin
            grant    <= winner;
            grant_id <= {|winner[3:2], winner[3] | winner[1]};
            busy     <= |req;
        end
endmodule
