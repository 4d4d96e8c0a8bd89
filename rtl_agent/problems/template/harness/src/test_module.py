"""The tests: each says which part of the specification it is about. Inputs change at falling edges."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge


async def start(dut):
    """Clock running, reset released."""
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    dut.en.value = 0
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0


def check(dut, expected):
    got = dut.count.value
    assert got.is_resolvable, f"count: expected {expected}, got {got}"
    assert got.to_unsigned() == expected, f"count: expected {expected}, got {got.to_unsigned()}"


@cocotb.test()
async def counts_and_wraps(dut):
    assert len(dut.count) == 4, f"count: expected 4 bits, got {len(dut.count)}"
    await start(dut)
    dut.en.value = 1
    for cycle in range(25):
        check(dut, cycle % 10)
        await FallingEdge(dut.clk)


@cocotb.test()
async def holds_without_enable_and_resets_at_any_time(dut):
    await start(dut)
    count = 0
    for _ in range(200):
        en, rst = random.getrandbits(1), random.random() < 0.1
        dut.en.value, dut.rst.value = en, int(rst)
        await FallingEdge(dut.clk)
        count = 0 if rst else (count + en) % 10
        check(dut, count)
