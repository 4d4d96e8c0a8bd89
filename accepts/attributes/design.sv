(* keep_hierarchy = "yes", author = "somebody" *)
module gray_counter #(
    parameter WIDTH = 4
) (
    input  logic             clk,
    input  logic             rst_n,
    input  logic             enable,
    input  logic             load,
    input  logic [WIDTH-1:0] load_value,
    output logic [WIDTH-1:0] gray,
    output logic             wrapped
);
    (* keep = "true", ram_style = "registers" *) logic [WIDTH-1:0] count;
    logic [WIDTH-1:0] following;
    (* always_comb_of = "next state" *)
    always_comb
        case ({load, enable})
            2'b00:   following = count;
            2'b01:   following = count + 1'b1;
            default: following = load_value;
        endcase
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n) begin
            count   <= '0;
            gray    <= '0;
            wrapped <= 1'b0;
        end else begin
            count   <= following;
            gray    <= following ^ (following >> 1);
            wrapped <= enable && !load && (&count);
        end
endmodule
