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

    logic [WIDTH-1:0] count;
    task automatic show(input logic [WIDTH-1:0] value, input logic wrap);
        count   <= value;
        gray    <= value ^ (value >> 1);
        wrapped <= wrap;
    endtask
    always_ff @(posedge clk or negedge rst_n)
        if (!rst_n)      show('0, 1'b0);
        else if (load)   show(load_value, 1'b0);
        else if (enable) show(count + 1'b1, &count);
        else             show(count, 1'b0);
endmodule
