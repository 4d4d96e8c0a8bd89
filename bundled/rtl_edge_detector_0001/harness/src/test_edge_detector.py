"""Edge detector: pulses, sticky bits, the first sample after reset and synchronous reset against a model."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from harness_library import check, check_width

WIDTH = int(os.environ["WIDTH"])
ALL = 2**WIDTH - 1


class Model:
    """The outputs after the edges so far; `previous` is None until the first sample after reset."""

    def __init__(self):
        self.previous = None
        self.rise = self.fall = self.seen = 0

    def edge(self, level, clear, rst):
        if rst:
            self.__init__()
            return
        before = level if self.previous is None else self.previous
        self.rise = level & ~before
        self.fall = before & ~level
        self.seen = self.rise | self.fall | self.seen & ~clear
        self.previous = level

    def check(self, dut, when):
        check(dut.rise, self.rise, when)
        check(dut.fall, self.fall, when)
        check(dut.seen, self.seen, when)


async def start(dut, level=0):
    """Clock running, two edges of reset done with signal_in at `level`."""
    dut.rst.value = 1
    dut.signal_in.value = level
    dut.clear.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    model = Model()
    model.check(dut, "after reset")
    return model


async def step(dut, model, level, clear=0, rst=0):
    dut.signal_in.value = level
    dut.clear.value = clear
    dut.rst.value = rst
    await FallingEdge(dut.clk)
    before = model.previous
    model.edge(level, clear, rst)
    model.check(dut, f"previous sample {before}, edge with signal_in={level:b} clear={clear:b} rst={rst}")


@cocotb.test(timeout_time=10, timeout_unit="us")
async def ports_have_their_widths(dut):
    for signal in (dut.signal_in, dut.clear, dut.rise, dut.fall, dut.seen):
        check_width(signal, WIDTH)
    check_width(dut.clk, 1)
    check_width(dut.rst, 1)
    await Timer(1, unit="ns")


@cocotb.test(timeout_time=20, timeout_unit="us")
async def each_bit_alone_and_all_together(dut):
    model = await start(dut)
    await step(dut, model, 0)
    for mask in (*(1 << bit for bit in range(WIDTH)), ALL):
        for level in (mask, mask, 0, 0, ALL, ALL ^ mask, ALL ^ mask, ALL, 0):
            await step(dut, model, level)
        await step(dut, model, 0, clear=ALL)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def first_sample_after_reset_reports_nothing(dut):
    for during, first in ((0, ALL), (ALL, 0), (ALL, ALL), (0, 0), (random.randint(0, ALL), random.randint(0, ALL))):
        model = await start(dut, level=during)
        await step(dut, model, first)
        await step(dut, model, ALL ^ first)
        await step(dut, model, first, rst=1)
        await step(dut, model, ALL ^ first)
        await step(dut, model, ALL ^ first)
        await step(dut, model, first)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_new_edge_wins_over_clear(dut):
    model = await start(dut)
    await step(dut, model, 0)
    await step(dut, model, ALL)
    await step(dut, model, ALL)  # sticky without an edge
    await step(dut, model, 0, clear=ALL)  # falls while cleared: stays set
    await step(dut, model, 0, clear=ALL)
    await step(dut, model, ALL, clear=ALL)  # rises while cleared: gets set
    await step(dut, model, ALL, clear=1)
    await step(dut, model, ALL, clear=ALL ^ 1)
    await step(dut, model, ALL)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def random_operation(dut):
    model = await start(dut)
    level = 0
    for _ in range(250):
        level = random.choice((level, random.randint(0, ALL), level ^ 1 << random.randrange(WIDTH)))
        await step(dut, model, level, clear=random.randint(0, ALL) & random.randint(0, ALL), rst=int(random.random() < 0.08))


@cocotb.test(timeout_time=10, timeout_unit="us")
async def outputs_change_only_on_rising_edges(dut):
    model = await start(dut)
    await step(dut, model, 0)
    for level, clear in ((ALL, 0), (ALL, ALL), (0, 0), (ALL, ALL), (0, ALL), (0, ALL)):
        dut.signal_in.value = ALL ^ level  # comes and goes between the clock edges
        await Timer(1, unit="ns")
        dut.signal_in.value = level
        dut.clear.value = clear
        await Timer(2, unit="ns")
        model.check(dut, "inputs changed while the clock was low")
        await step(dut, model, level, clear)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def reset_between_edges_has_no_effect(dut):
    model = await start(dut)
    await step(dut, model, 0)
    for level in (ALL, 0):
        await step(dut, model, level)
        dut.rst.value = 1
        await Timer(2, unit="ns")
        model.check(dut, "rst raised between edges, none has passed")
        dut.rst.value = 0
        await Timer(1, unit="ns")
        model.check(dut, "rst raised and lowered again between edges")
        await step(dut, model, ALL ^ level)
        await step(dut, model, level, rst=1)
