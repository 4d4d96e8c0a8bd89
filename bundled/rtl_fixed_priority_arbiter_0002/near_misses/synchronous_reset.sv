// near miss: rst_n acts only on a rising clock edge
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

    assign hold = lock && ((req & grant) != 4'd0);

    always_comb begin
        winner    = 4'b0000;
        winner_id = 2'd0;
        if (req[3]) begin
            winner    = 4'b1000;
            winner_id = 2'd3;
        end else if (req[2]) begin
            winner    = 4'b0100;
            winner_id = 2'd2;
        end else if (req[1]) begin
            winner    = 4'b0010;
            winner_id = 2'd1;
        end else if (req[0]) begin
            winner    = 4'b0001;
            winner_id = 2'd0;
        end
    end

    always_ff @(posedge clk) begin
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
