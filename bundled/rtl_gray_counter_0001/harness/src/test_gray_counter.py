"""Gray counter: code, counting, loading, wrap pulse and asynchronous reset against a model."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from harness_library import check, check_width, read

WIDTH = int(os.environ["WIDTH"])
TOP = 2**WIDTH - 1


class Model:
    def __init__(self):
        self.count = 0
        self.wrapped = 0

    def edge(self, enable, load, value):
        self.wrapped = int(enable and not load and self.count == TOP)
        if load:
            self.count = value
        elif enable:
            self.count = (self.count + 1) & TOP

    def check(self, dut, when):
        check(dut.gray, self.count ^ self.count >> 1, f"{when} (count {self.count})")
        check(dut.wrapped, self.wrapped, f"{when} (count {self.count})")


async def start(dut):
    """Clock running, reset released while the clock is low."""
    dut.rst_n.value = 0
    dut.enable.value = 0
    dut.load.value = 0
    dut.load_value.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst_n.value = 1
    return Model()


async def step(dut, model, enable=0, load=0, value=0):
    dut.enable.value = enable
    dut.load.value = load
    dut.load_value.value = value
    await FallingEdge(dut.clk)
    model.edge(enable, load, value)
    model.check(dut, f"after an edge with enable={enable} load={load} load_value={value}")


@cocotb.test(timeout_time=10, timeout_unit="us")
async def ports_have_their_widths(dut):
    check_width(dut.load_value, WIDTH)
    check_width(dut.gray, WIDTH)
    for signal in (dut.clk, dut.rst_n, dut.enable, dut.load, dut.wrapped):
        check_width(signal, 1)
    await Timer(1, unit="ns")


@cocotb.test(timeout_time=20, timeout_unit="us")
async def counts_twice_around_one_bit_at_a_time(dut):
    model = await start(dut)
    await step(dut, model)
    before = read(dut.gray)
    for _ in range(2 * (TOP + 1) + 3):
        await step(dut, model, enable=1)
        after = read(dut.gray)
        assert bin(before ^ after).count("1") == 1, f"one bit expected to change, got {before:b} to {after:b}"
        before = after


@cocotb.test(timeout_time=20, timeout_unit="us")
async def loads_binary_with_and_without_enable(dut):
    model = await start(dut)
    for value in (TOP, 0, TOP - 1, 1, TOP // 2, TOP // 2 + 1, *(random.randint(0, TOP) for _ in range(20))):
        enable = random.randrange(2)
        await step(dut, model, enable=enable, load=1, value=value)
        await step(dut, model, enable=1, value=random.randint(0, TOP))
        await step(dut, model, enable=1 - enable, load=1, value=value)
        await step(dut, model, value=random.randint(0, TOP))


@cocotb.test(timeout_time=10, timeout_unit="us")
async def wrapped_marks_only_a_counted_wrap(dut):
    model = await start(dut)
    await step(dut, model, load=1, value=TOP)
    await step(dut, model)  # waiting at the top is no wrap
    await step(dut, model, enable=1)
    await step(dut, model)  # the pulse ends even if the counter stays at 0
    await step(dut, model, load=1, value=TOP)
    await step(dut, model, enable=1, load=1, value=0)  # loaded, not counted, to 0
    await step(dut, model, load=1, value=TOP)
    await step(dut, model, enable=1)
    await step(dut, model, enable=1, load=1, value=TOP)
    await step(dut, model, enable=1)
    await step(dut, model, enable=1)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def random_operation(dut):
    model = await start(dut)
    for _ in range(250):
        await step(
            dut,
            model,
            enable=int(random.random() < 0.8),
            load=int(random.random() < 0.1),
            value=random.choice((TOP, TOP - 1, random.randint(0, TOP))),
        )


@cocotb.test(timeout_time=10, timeout_unit="us")
async def outputs_change_only_on_rising_edges(dut):
    model = await start(dut)
    for enable, load, value in ((0, 1, TOP), (1, 0, 0), (0, 1, 1), (1, 0, 0), (0, 1, TOP), (1, 1, 2)):
        dut.enable.value = enable
        dut.load.value = load
        dut.load_value.value = value
        await Timer(3, unit="ns")
        model.check(dut, "inputs changed while the clock was low")
        await step(dut, model, enable, load, value)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def reset_acts_without_a_clock_edge(dut):
    for wrap_first in (False, True):
        model = await start(dut)
        await step(dut, model, load=1, value=TOP)
        await step(dut, model, enable=int(wrap_first))
        await Timer(2, unit="ns")
        dut.rst_n.value = 0
        await Timer(1, unit="ns")
        Model().check(dut, "rst_n has fallen between edges")
        dut.enable.value = 1
        dut.load.value = 1
        dut.load_value.value = TOP
        await FallingEdge(dut.clk)
        Model().check(dut, "rst_n low, an edge with load and enable has passed")
        dut.rst_n.value = 1
        await Timer(2, unit="ns")
        Model().check(dut, "rst_n has risen, no edge has passed")
        model = Model()
        for _ in range(3):
            await step(dut, model, enable=1)
