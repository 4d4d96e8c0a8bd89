`timescale 1ns/1ps
module locking_arbiter (
    input  logic       clk,
    input  logic       rst_n,
    input  logic [3:0] req,
    input  logic       lock,
    output logic [3:0] grant,
    output logic [1:0] grant_id,
    output logic       busy
);

    wire       hold   = lock && |(req & grant);
    wire [3:0] winner = req[3] ? 4'd8 : req[2] ? 4'd4 : req[1] ? 4'd2 : {3'd0, req[0]};
    always @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            grant <= 0; grant_id <= 0; busy <= 0;
        end else if (!hold) begin
            grant    <= #0.1 winner;
            grant_id <= #0.1 {|winner[3:2], winner[3] | winner[1]};
            busy     <= #0.1 |req;
        end
endmodule
