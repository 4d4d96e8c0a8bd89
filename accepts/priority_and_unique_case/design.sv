module locking_arbiter (
    input  logic       clk,
    input  logic       rst_n,
    input  logic [3:0] req,
    input  logic       lock,
    output logic [3:0] grant,
    output logic [1:0] grant_id,
    output logic       busy
);

    logic [1:0] top;
    always_comb
        priority case (1'b1)
            req[3]:  top = 2'd3;
            req[2]:  top = 2'd2;
            req[1]:  top = 2'd1;
            default: top = 2'd0;
        endcase
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            grant <= '0; grant_id <= '0; busy <= '0;
        end else if (!lock || !(|(req & grant))) begin
            grant_id <= top;
            busy     <= |req;
            unique case (top)
                2'd3: grant <= 4'b1000;
                2'd2: grant <= 4'b0100;
                2'd1: grant <= 4'b0010;
                2'd0: grant <= {3'b000, req[0]};
            endcase
        end
endmodule
