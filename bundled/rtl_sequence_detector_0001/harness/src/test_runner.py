"""Compiles the design and runs the cocotb tests on it."""

import os

from cocotb_tools.runner import get_runner

sources = os.environ["VERILOG_SOURCES"].split()
toplevel = os.environ["TOPLEVEL"]
module = os.environ["MODULE"]


def test_sequence_detector():
    runner = get_runner(os.getenv("SIM", "icarus"))
    runner.build(
        sources=sources,
        hdl_toplevel=toplevel,
        always=True,
        clean=True,
        timescale=("1ns", "1ns"),
        log_file="build.log",
    )
    runner.test(hdl_toplevel=toplevel, test_module=module)
