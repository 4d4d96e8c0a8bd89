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
    typedef struct packed {
        logic                last;
        logic [DATA_W/8-1:0] keep;
        logic [DATA_W-1:0]   data;
    } beat_t;

    beat_t offered, front, spare;
    logic  spare_valid;

    assign offered.last = s_axis_tlast;
    assign offered.keep = s_axis_tkeep;
    assign offered.data = s_axis_tdata;
    assign m_axis_tlast = front.last;
    assign m_axis_tkeep = front.keep;
    assign m_axis_tdata = front.data;
    assign level        = 2'(m_axis_tvalid) + 2'(spare_valid);

    wire store = s_axis_tvalid && s_axis_tready && (offered.last || |offered.keep);
    wire free  = !m_axis_tvalid || m_axis_tready;

    always_ff @(posedge aclk) begin
        if (free) front <= spare_valid ? spare : offered;
        if (store) spare <= offered;
        s_axis_tready <= aresetn && (flush || free || !(spare_valid || store));
        spare_valid   <= aresetn && !flush && !free && (spare_valid || store);
        m_axis_tvalid <= aresetn && !flush && (free ? spare_valid || store : m_axis_tvalid);
    end
endmodule
