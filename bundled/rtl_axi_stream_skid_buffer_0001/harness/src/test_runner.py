import os

import pytest
from cocotb_tools.runner import get_runner

sources = os.environ["VERILOG_SOURCES"].split()
toplevel = os.environ["TOPLEVEL"]
module = os.environ["MODULE"]
sim = os.getenv("SIM", "icarus")

# The bench reads the parameters from its environment: a design that ignores an override must not be believed.
DEFAULTS = {"DATA_W": 32}
OVERRIDES = [{}, {"DATA_W": 8}, {"DATA_W": 64}]


@pytest.mark.parametrize("overrides", OVERRIDES, ids=str)
def test_axis_skid_buffer(overrides):
    runner = get_runner(sim)
    runner.build(
        sources=sources,
        hdl_toplevel=toplevel,
        parameters=overrides,
        always=True,
        clean=True,
        timescale=("1ns", "1ns"),
        log_file="build.log",
    )
    runner.test(
        hdl_toplevel=toplevel,
        test_module=module,
        extra_env={name: str(value) for name, value in {**DEFAULTS, **overrides}.items()},
    )
