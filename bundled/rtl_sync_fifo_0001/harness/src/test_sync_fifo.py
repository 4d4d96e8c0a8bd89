"""FIFO: order, flags, requests at full and empty, timing and synchronous reset against a queue."""

import os
import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from harness_library import check, check_width

DATA_WIDTH = int(os.environ["DATA_WIDTH"])
DEPTH = int(os.environ["DEPTH"])


def word():
    return random.getrandbits(DATA_WIDTH)


class Model:
    def __init__(self):
        self.words = deque()
        self.rd_data = 0

    def edge(self, wr_en, wr_data, rd_en):
        read = rd_en and len(self.words) > 0
        write = wr_en and (len(self.words) < DEPTH or read)
        if read:
            self.rd_data = self.words.popleft()
        if write:
            self.words.append(wr_data)

    def check(self, dut, when):
        held = len(self.words)
        check(dut.count, held, when)
        check(dut.full, int(held == DEPTH), when)
        check(dut.empty, int(held == 0), when)
        check(dut.almost_full, int(held >= DEPTH - 1), when)
        check(dut.almost_empty, int(held <= 1), when)
        check(dut.rd_data, self.rd_data, when)


async def start(dut):
    """Clock running, one edge of reset done, empty."""
    dut.rst_n.value = 0
    dut.wr_en.value = 0
    dut.wr_data.value = 0
    dut.rd_en.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst_n.value = 1
    model = Model()
    model.check(dut, "after reset")
    return model


async def step(dut, model, wr_en=0, rd_en=0, wr_data=None):
    """One edge; the data input carries a random word also when nothing is to be written."""
    wr_data = word() if wr_data is None else wr_data
    dut.wr_en.value = wr_en
    dut.wr_data.value = wr_data
    dut.rd_en.value = rd_en
    await FallingEdge(dut.clk)
    held = len(model.words)
    model.edge(wr_en, wr_data, rd_en)
    model.check(dut, f"{held} of {DEPTH} words held, edge with wr_en={wr_en} wr_data={wr_data:#x} rd_en={rd_en}")


@cocotb.test(timeout_time=10, timeout_unit="us")
async def ports_have_their_widths(dut):
    check_width(dut.wr_data, DATA_WIDTH)
    check_width(dut.rd_data, DATA_WIDTH)
    check_width(dut.count, DEPTH.bit_length())
    for name in ("clk", "rst_n", "wr_en", "rd_en", "full", "empty", "almost_full", "almost_empty"):
        check_width(getattr(dut, name), 1)
    await Timer(1, unit="ns")


@cocotb.test(timeout_time=20, timeout_unit="us")
async def fills_and_drains_in_order(dut):
    model = await start(dut)
    for _ in range(3):
        for _ in range(DEPTH):
            await step(dut, model, wr_en=1)
        await step(dut, model)
        for _ in range(DEPTH):
            await step(dut, model, rd_en=1)
        await step(dut, model)
        await step(dut, model, wr_en=1)  # moves the pointers, so that the next round wraps elsewhere
        await step(dut, model, rd_en=1)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def requests_at_full(dut):
    model = await start(dut)
    for _ in range(DEPTH):
        await step(dut, model, wr_en=1)
    for _ in range(3):
        await step(dut, model, wr_en=1)  # ignored
    for _ in range(2 * DEPTH + 1):
        await step(dut, model, wr_en=1, rd_en=1)  # one out, one in
    await step(dut, model, wr_en=1)
    for _ in range(DEPTH + 2):
        await step(dut, model, rd_en=1)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def requests_at_empty(dut):
    model = await start(dut)
    for _ in range(3):
        await step(dut, model, rd_en=1)  # ignored
    await step(dut, model, wr_en=1, rd_en=1)  # only the write
    for _ in range(2 * DEPTH + 1):
        await step(dut, model, wr_en=1, rd_en=1)
    await step(dut, model, rd_en=1)
    await step(dut, model, rd_en=1)
    await step(dut, model)


@cocotb.test(timeout_time=40, timeout_unit="us")
async def random_traffic(dut):
    model = await start(dut)
    for _ in range(8):
        write_rate, read_rate = random.choice(((0.9, 0.3), (0.3, 0.9), (0.6, 0.6), (1.0, 1.0)))
        for _ in range(3 * DEPTH + 10):
            await step(dut, model, wr_en=int(random.random() < write_rate), rd_en=int(random.random() < read_rate))


@cocotb.test(timeout_time=10, timeout_unit="us")
async def outputs_change_only_on_rising_edges(dut):
    model = await start(dut)
    for wr_en, rd_en in [(1, 0)] * DEPTH + [(1, 1), (1, 0)] + [(0, 1)] * DEPTH + [(1, 1), (0, 1), (0, 1)]:
        data = word()
        dut.wr_en.value = wr_en
        dut.wr_data.value = data
        dut.rd_en.value = rd_en
        await Timer(3, unit="ns")
        model.check(dut, "inputs changed while the clock was low")
        await step(dut, model, wr_en, rd_en, data)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def reset_empties_on_an_edge_only(dut):
    model = await start(dut)
    for held in (1, DEPTH - 1, DEPTH):
        for _ in range(held):
            await step(dut, model, wr_en=1, wr_data=2**DATA_WIDTH - 1)
        await step(dut, model, wr_en=1, rd_en=1, wr_data=2**DATA_WIDTH - 2)
        dut.rst_n.value = 0
        await Timer(2, unit="ns")
        model.check(dut, "rst_n lowered between edges, none has passed")
        dut.rst_n.value = 1
        await Timer(1, unit="ns")
        model.check(dut, "rst_n lowered and raised again between edges")
        await step(dut, model)
        dut.rst_n.value = 0
        for _ in range(2):
            dut.wr_en.value = 1
            dut.rd_en.value = 1
            await FallingEdge(dut.clk)
            model = Model()
            model.check(dut, "rst_n low at an edge with wr_en and rd_en high")
        dut.rst_n.value = 1
        await step(dut, model, rd_en=1)
        await step(dut, model, wr_en=1)
        await step(dut, model, rd_en=1)
