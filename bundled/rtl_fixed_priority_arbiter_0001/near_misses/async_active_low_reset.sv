// near miss: an asynchronous active-low rst_n instead of the synchronous active-high reset
module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       rst_n,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);

    logic [7:0] sel;
    assign sel = |priority_override ? priority_override : req;

    always_ff @(posedge clk or negedge rst_n) begin
        if (!rst_n) begin
            grant       <= 8'b0;
            valid       <= 1'b0;
            grant_index <= 3'b0;
        end else begin
            valid <= |sel;
            casez (sel)
                8'b???????1: begin grant <= 8'h01; grant_index <= 3'd0; end
                8'b??????10: begin grant <= 8'h02; grant_index <= 3'd1; end
                8'b?????100: begin grant <= 8'h04; grant_index <= 3'd2; end
                8'b????1000: begin grant <= 8'h08; grant_index <= 3'd3; end
                8'b???10000: begin grant <= 8'h10; grant_index <= 3'd4; end
                8'b??100000: begin grant <= 8'h20; grant_index <= 3'd5; end
                8'b?1000000: begin grant <= 8'h40; grant_index <= 3'd6; end
                8'b10000000: begin grant <= 8'h80; grant_index <= 3'd7; end
                default:     begin grant <= 8'h00; grant_index <= 3'd0; end
            endcase
        end
    end

endmodule
