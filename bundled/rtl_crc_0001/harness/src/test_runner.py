"""Compiles the design for several CRCs and runs the cocotb tests on each."""

import os

import pytest
from cocotb_tools.runner import get_runner

sources = os.environ["VERILOG_SOURCES"].split()
toplevel = os.environ["TOPLEVEL"]
module = os.environ["MODULE"]

DEFAULTS = {"WIDTH": 16, "POLY": 0x1021, "INIT": 0xFFFF, "REFLECT_IN": 0, "REFLECT_OUT": 0, "XOR_OUT": 0}

CRC_12_UMTS = {"WIDTH": 12, "POLY": 0x80F, "INIT": 0, "REFLECT_IN": 0, "REFLECT_OUT": 1, "XOR_OUT": 0}

# No palindromes among these: reflecting INIT or XOR_OUT by mistake has to show.
LOPSIDED_32 = {"WIDTH": 32, "POLY": 0x04C11DB7, "INIT": 0x5B2C71E3, "REFLECT_IN": 1, "REFLECT_OUT": 1, "XOR_OUT": 0x0F1E2D3D}


@pytest.mark.parametrize("parameters", [{}, CRC_12_UMTS, LOPSIDED_32])
def test_crc_engine(parameters):
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
