"""Compiles the design and replays the vectors on it."""

import os

from cocotb_tools.runner import get_runner

sources = os.environ["VERILOG_SOURCES"].split()
toplevel = os.environ["TOPLEVEL"]


def test_design():
    runner = get_runner("icarus")
    runner.build(
        sources=[*sources, "/src/all_ports.v"],
        hdl_toplevel=toplevel,
        build_args=["-s", "all_ports"],  # connects every port by name, so that none can be missing
        always=True,
        clean=True,
        timescale=("1ns", "1ns"),
        log_file="build.log",
    )
    runner.test(hdl_toplevel=toplevel, test_module="replay")
