module locking_arbiter (
    input  logic       clk,
    input  logic       rst_n,
    input  logic [3:0] req,
    input  logic [0:0] lock,
    output logic [3:0] grant,
    output logic [1:0] grant_id,
    output logic [0:0] busy
);

    wire [3:0] winner = req[3] ? 4'd8 : req[2] ? 4'd4 : req[1] ? 4'd2 : {3'd0, req[0]};
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) {grant, grant_id, busy} <= '0;
        else if (!(lock[0] && |(req & grant))) {grant, grant_id, busy} <= {winner, |winner[3:2], winner[3] | winner[1], |req};
endmodule
