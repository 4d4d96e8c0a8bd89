"""Compiles the design and replays the vectors on it."""

import os

from cocotb_tools.runner import get_runner

sources = os.environ["VERILOG_SOURCES"].split()
toplevel = os.environ["TOPLEVEL"]


def test_design():
    runner = get_runner("icarus")
    runner.build(
        sources=sources,
        hdl_toplevel=toplevel,
        always=True,
        clean=True,
        timescale=("1ns", "1ns"),
        log_file="build.log",
    )
    runner.test(hdl_toplevel=toplevel, test_module="replay")
