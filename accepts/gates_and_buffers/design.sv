module locking_arbiter (
    input  logic       clk,
    input  logic       rst_n,
    input  logic [3:0] req,
    input  logic       lock,
    output logic [3:0] grant,
    output logic [1:0] grant_id,
    output logic       busy
);

    wire [3:0] n, held, winner;
    wire       some_held, hold, go;
    not  inverters [3:0] (n, req);
    and  owner [3:0] (held, req, grant);
    or   any_held (some_held, held[0], held[1], held[2], held[3]);
    and  locked (hold, lock, some_held);
    not  moving (go, hold);
    buf  w3 (winner[3], req[3]);
    and  w2 (winner[2], req[2], n[3]);
    and  w1 (winner[1], req[1], n[3], n[2]);
    and  w0 (winner[0], req[0], n[3], n[2], n[1]);
    wire id1, id0, some;
    or   high (id1, winner[3], winner[2]);
    or   odd (id0, winner[3], winner[1]);
    or   all (some, req[0], req[1], req[2], req[3]);
    always @(posedge clk or negedge rst_n)
        if (!rst_n) {grant, grant_id, busy} <= 7'd0;
        else if (go) {grant, grant_id, busy} <= {winner, id1, id0, some};
endmodule
