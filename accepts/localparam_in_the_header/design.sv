module round_robin_arbiter #(
    parameter  int N       = 4,
    localparam int INDEX_W = $clog2(N)
) (
    input  logic               clk,
    input  logic               rst,
    input  logic [N-1:0]       req,
    input  logic               ack,
    output logic [N-1:0]       grant,
    output logic               grant_valid,
    output logic [INDEX_W-1:0] grant_index
);
    logic [INDEX_W-1:0] first;
    logic [2*N-1:0]     twice;

    assign twice       = {req, req} >> first;
    assign grant_valid = |req;

    always_comb begin
        grant_index = '0;
        for (int k = N - 1; k >= 0; k--)
            if (twice[k]) grant_index = INDEX_W'((int'(first) + k) % N);
    end
    assign grant = grant_valid ? N'(1) << grant_index : '0;

    always_ff @(posedge clk)
        if (rst)              first <= '0;
        else if (grant_valid) first <= !ack ? grant_index : int'(grant_index) == N - 1 ? '0 : grant_index + 1'b1;
endmodule
