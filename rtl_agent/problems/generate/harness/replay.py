"""Replays input vectors and compares the outputs with what was computed beforehand. The same for every problem."""

import base64
import json
import zlib
from pathlib import Path

import cocotb
from cocotb.triggers import Timer
from ports import INPUTS, OUTPUTS

STEPS = json.loads(zlib.decompress(base64.b64decode(Path(__file__).with_name("vectors.txt").read_text())))


@cocotb.test(timeout_time=10, timeout_unit="us")
async def ports_have_their_widths(dut):
    for name, width in INPUTS + OUTPUTS:
        signal = getattr(dut, name)
        try:
            got = len(signal)
        except TypeError:  # a scalar has no length
            got = 1
        assert got == width, f"{name} expected to be {width} bits wide, got {got}"


@cocotb.test(timeout_time=10, timeout_unit="us")
async def outputs_are_as_computed(dut):
    """A step is what changes at the inputs, and the outputs 2 ns later as bits; `None` is not looked at."""
    inputs = [getattr(dut, name) for name, _ in INPUTS]
    outputs = [getattr(dut, name) for name, _ in OUTPUTS]
    for signal in inputs:
        signal.value = 0
    pause = Timer(2, unit="ns")
    for at, (changes, expected) in enumerate(STEPS):
        for index, value in changes:
            inputs[index].value = value
        await pause
        if expected is None:
            continue
        for signal, bits in zip(outputs, expected, strict=True):
            got = str(signal.value)
            assert got == bits, f"step {at}: {signal._name} expected {bits}, got {got}"
