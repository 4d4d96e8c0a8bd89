// near miss: a beat without bytes is dropped even when it ends a packet
// Two-entry AXI4-Stream register slice: all handshake outputs are registers, one beat per cycle.
module axis_skid_buffer #(
    parameter int DATA_W = 32
) (
    input  logic                aclk,
    input  logic                aresetn,
    input  logic                flush,
    input  logic [DATA_W-1:0]   s_axis_tdata,
    input  logic [DATA_W/8-1:0] s_axis_tkeep,
    input  logic                s_axis_tlast,
    input  logic                s_axis_tvalid,
    output logic                s_axis_tready,
    output logic [DATA_W-1:0]   m_axis_tdata,
    output logic [DATA_W/8-1:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic                m_axis_tvalid,
    input  logic                m_axis_tready,
    output logic [1:0]          level
);

    localparam int BEAT_W = DATA_W + DATA_W/8 + 1;

    logic [BEAT_W-1:0] in_beat;
    logic [BEAT_W-1:0] out_beat;
    logic [BEAT_W-1:0] skid_beat;
    logic              skid_valid;
    logic              store;
    logic              out_free;

    assign in_beat = {s_axis_tlast, s_axis_tkeep, s_axis_tdata};
    assign {m_axis_tlast, m_axis_tkeep, m_axis_tdata} = out_beat;
    assign level = {1'b0, m_axis_tvalid} + {1'b0, skid_valid};

    assign store    = s_axis_tvalid && s_axis_tready && (s_axis_tkeep != '0);
    assign out_free = !m_axis_tvalid || m_axis_tready;

    always_ff @(posedge aclk) begin
        if (!aresetn) begin
            s_axis_tready <= 1'b0;
            m_axis_tvalid <= 1'b0;
            skid_valid    <= 1'b0;
        end else if (flush) begin
            s_axis_tready <= 1'b1;
            m_axis_tvalid <= 1'b0;
            skid_valid    <= 1'b0;
        end else if (out_free) begin
            // tready is 0 while the skid entry is occupied, so it never competes with the input.
            s_axis_tready <= 1'b1;
            m_axis_tvalid <= skid_valid || store;
            skid_valid    <= 1'b0;
        end else begin
            s_axis_tready <= !(skid_valid || store);
            skid_valid    <= skid_valid || store;
        end
    end

    always_ff @(posedge aclk) begin
        if (out_free)
            out_beat <= skid_valid ? skid_beat : in_beat;
        if (store)
            skid_beat <= in_beat;
    end

endmodule
