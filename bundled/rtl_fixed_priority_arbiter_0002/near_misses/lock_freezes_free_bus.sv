// near miss: lock holds the outputs even when the bus is free, so nobody is granted
// Four masters, master 3 first; a locked owner keeps the bus while it requests.
module locking_arbiter (
    input  logic       clk,
    input  logic       rst_n,
    input  logic [3:0] req,
    input  logic       lock,
    output logic [3:0] grant,
    output logic [1:0] grant_id,
    output logic       busy
);

    logic       hold;
    logic [3:0] winner;
    logic [1:0] winner_id;

    assign hold = lock && (!busy || ((req & grant) != 4'd0));

    assign winner[3] = req[3];
    assign winner[2] = req[2] && !req[3];
    assign winner[1] = req[1] && (req[3:2] == 2'd0);
    assign winner[0] = req[0] && (req[3:1] == 3'd0);

    assign winner_id[1] = winner[3] || winner[2];
    assign winner_id[0] = winner[3] || winner[1];

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            grant    <= 4'd0;
            grant_id <= 2'd0;
            busy     <= 1'b0;
        end else if (!hold) begin
            grant    <= winner;
            grant_id <= winner_id;
            busy     <= (req != 4'd0);
        end
    end

endmodule
