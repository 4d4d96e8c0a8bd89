import os

import pytest
from cocotb_tools.runner import get_runner

sources = os.environ["VERILOG_SOURCES"].split()
sim = os.getenv("SIM", "icarus")

# The top at two widths, and the data path alone: its behaviour is specified beyond what the top uses of it.
# The first run has no override, so it sees the default width of 8.
# The bench reads the width from its environment: a design that ignores an override must not be believed.
RUNS = [
    (os.environ["TOPLEVEL"], os.environ["MODULE"], {}),
    (os.environ["TOPLEVEL"], os.environ["MODULE"], {"WIDTH": 5}),
    ("spi_shift", "test_spi_shift", {"WIDTH": 6}),
]


@pytest.mark.parametrize("toplevel, module, parameters", RUNS, ids=lambda value: str(value))
def test_spi(toplevel, module, parameters):
    runner = get_runner(sim)
    runner.build(
        sources=sources,
        hdl_toplevel=toplevel,
        parameters=parameters,
        always=True,
        clean=True,
        timescale=("1ns", "1ns"),
        log_file="build.log",
    )
    runner.test(
        hdl_toplevel=toplevel,
        test_module=module,
        extra_env={"WIDTH": str(parameters.get("WIDTH", 8))},
    )
