module locking_arbiter (
    input  logic       clk,
    input  logic       rst_n,
    input  logic [3:0] req,
    input  logic       lock,
    output logic [3:0] grant,
    output logic [1:0] grant_id,
    output logic       busy
);

    reg [3:0] winner;
    reg [1:0] id;
    always @(req)
        casex (req)
            4'b1xxx: begin winner = 4'b1000; id = 2'd3; end
            4'b01xx: begin winner = 4'b0100; id = 2'd2; end
            4'b001x: begin winner = 4'b0010; id = 2'd1; end
            4'b0001: begin winner = 4'b0001; id = 2'd0; end
            default: begin winner = 4'b0000; id = 2'd0; end
        endcase
    always @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            grant <= 0; grant_id <= 0; busy <= 0;
        end else if (!(lock && |(req & grant))) begin
            grant <= winner; grant_id <= id; busy <= |req;
        end
endmodule
