"""Compiles the answer and runs the cocotb tests on it."""

import os

from cocotb_tools.runner import get_runner


def test_design():
    runner = get_runner(os.environ["SIM"])
    runner.build(
        sources=os.environ["VERILOG_SOURCES"].split(),
        hdl_toplevel=os.environ["TOPLEVEL"],
        always=True,
        clean=True,
        timescale=("1ns", "1ns"),
        log_file="build.log",
    )
    runner.test(hdl_toplevel=os.environ["TOPLEVEL"], test_module=os.environ["MODULE"])
