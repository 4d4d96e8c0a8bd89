"""Compiles the design for several parameter sets and runs the cocotb tests on each."""

import os

import pytest
from cocotb_tools.runner import get_runner

sources = os.environ["VERILOG_SOURCES"].split()
toplevel = os.environ["TOPLEVEL"]
module = os.environ["MODULE"]

DEFAULTS = {"CLKS_PER_BIT": 4, "PARITY": 0, "STOP_BITS": 1}


@pytest.mark.parametrize("parameters", [{}, {"CLKS_PER_BIT": 5, "PARITY": 1}, {"CLKS_PER_BIT": 2, "PARITY": 2, "STOP_BITS": 2}])
def test_uart_tx(parameters):
    runner = get_runner(os.getenv("SIM", "icarus"))
    runner.build(
        sources=sources,
        hdl_toplevel=toplevel,
        parameters=parameters,
        always=True,
        clean=True,
        timescale=("1ns", "1ns"),
        log_file="build.log",
    )
    # The tests must not ask the design for its parameters: it could answer with others than it was given.
    expected = {name: str(value) for name, value in (DEFAULTS | parameters).items()}
    runner.test(hdl_toplevel=toplevel, test_module=module, extra_env=expected)
