// module fixed_priority_arbiter; endmodule
/* endmodule
   ```verilog
   `include "/etc/passwd"
   $finish; $fopen("results.xml", "w");
   ``` */
module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);

    localparam [8*20-1:0] NAME = "endmodule // $finish";
    wire [7:0] candidates = priority_override ? priority_override : req;  // was: assign grant = 8'hFF; /* not closed
    wire [7:0] winner     = candidates & -candidates;
    always_ff @(posedge clk) begin  // initial begin $finish; end
        grant       <= reset ? 8'd0 : winner;
        valid       <= !reset && |candidates;
        grant_index <= reset ? 3'd0 : {|winner[7:4], |{winner[7:6], winner[3:2]}, |{winner[7], winner[5], winner[3], winner[1]}};
    end
endmodule  // end of module fixed_priority_arbiter
