module locking_arbiter (
    input  logic       clk,
    input  logic       rst_n,
    input  logic [3:0] req,
    input  logic       lock,
    output logic [3:0] grant,
    output logic [1:0] grant_id,
    output logic       busy
);

    typedef enum logic [3:0] {NOBODY = 4'b0000, M0 = 4'b0001, M1 = 4'b0010, M2 = 4'b0100, M3 = 4'b1000} owner_t;
    owner_t owner, winner;
    always_comb begin
        winner = NOBODY;
        if (req[3]) winner = M3;
        else if (req[2]) winner = M2;
        else if (req[1]) winner = M1;
        else if (req[0]) winner = M0;
    end
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) owner <= owner.first();
        else if (!(lock && (req & owner) != 0)) owner <= winner;
    assign grant    = owner;
    assign grant_id = owner == M3 ? 2'd3 : owner == M2 ? 2'd2 : owner == M1 ? 2'd1 : 2'd0;
    assign busy     = owner != NOBODY;
endmodule
