// Round-robin arbiter: combinational offer, which stays with its requester until taken or withdrawn.
module round_robin_arbiter #(
    parameter int N = 4
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic [N-1:0]         req,
    input  logic                 ack,
    output logic [N-1:0]         grant,
    output logic                 grant_valid,
    output logic [$clog2(N)-1:0] grant_index
);

    localparam int INDEX_W = $clog2(N);
    localparam logic [INDEX_W-1:0] LAST = INDEX_W'(N - 1);

    logic [INDEX_W-1:0] ptr;
    logic [INDEX_W-1:0] position;
    integer             k;

    // From the farthest position to the nearest: the last one found is the first in search order.
    always_comb begin
        grant_index = '0;
        position    = ptr;
        for (k = 0; k < N; k = k + 1) begin
            position = (position == '0) ? LAST : position - 1'b1;
            if (req[position])
                grant_index = position;
        end
    end

    assign grant_valid = |req;
    assign grant       = grant_valid ? ({{(N-1){1'b0}}, 1'b1} << grant_index) : '0;

    always_ff @(posedge clk) begin
        if (rst)
            ptr <= '0;
        else if (grant_valid && ack)
            ptr <= (grant_index == LAST) ? '0 : grant_index + 1'b1;
        else if (grant_valid)
            ptr <= grant_index;
    end

endmodule
