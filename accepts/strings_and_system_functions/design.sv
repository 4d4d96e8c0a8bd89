module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);
    logic [7:0] candidates, winner;
    assign candidates = (priority_override != 8'd0) ? priority_override : req;
    assign winner     = candidates & (~candidates + 8'd1);
    always_ff @(posedge clk)
        if (reset) begin
            grant       <= 8'd0;
            valid       <= 1'b0;
            grant_index <= 3'd0;
        end else begin
            grant       <= winner;
            valid       <= |candidates;
            grant_index <= {|winner[7:4], |{winner[7:6], winner[3:2]}, |{winner[7], winner[5], winner[3], winner[1]}};
        end

    string  note;
    integer spice;
    always @(posedge valid) begin
        spice = $random;
        note  = $sformatf("granted at %0t", $time);
        if (note.len() == 0) $display("%s %0d", note, spice);
    end
endmodule
