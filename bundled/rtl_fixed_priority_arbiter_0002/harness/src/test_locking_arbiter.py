"""Arbiter of four masters with lock: choice, holding, timing and asynchronous reset against a model."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from harness_library import check, check_width


class Model:
    def __init__(self):
        self.owner = None

    def edge(self, req, lock):
        if lock and self.owner is not None and req >> self.owner & 1:
            return
        self.owner = req.bit_length() - 1 if req else None

    def check(self, dut, when):
        owned = self.owner is not None
        check(dut.grant, 1 << self.owner if owned else 0, when)
        check(dut.grant_id, self.owner if owned else 0, when)
        check(dut.busy, int(owned), when)


async def start(dut):
    """Clock running, reset released while the clock is low, bus free."""
    dut.rst_n.value = 0
    dut.req.value = 0
    dut.lock.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst_n.value = 1
    return Model()


async def step(dut, model, req, lock):
    dut.req.value = req
    dut.lock.value = lock
    await FallingEdge(dut.clk)
    before = model.owner
    model.edge(req, lock)
    model.check(dut, f"owner was {before}, edge with req={req:04b} lock={lock}")


@cocotb.test(timeout_time=10, timeout_unit="us")
async def ports_have_their_widths(dut):
    check_width(dut.req, 4)
    check_width(dut.grant, 4)
    check_width(dut.grant_id, 2)
    for signal in (dut.clk, dut.rst_n, dut.lock, dut.busy):
        check_width(signal, 1)
    await Timer(1, unit="ns")


@cocotb.test(timeout_time=10, timeout_unit="us")
async def highest_request_wins_without_lock(dut):
    model = await start(dut)
    for req in [*range(16), *reversed(range(16))]:
        await step(dut, model, req, 0)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def example_of_the_specification(dut):
    model = await start(dut)
    for req, lock in ((0b0011, 1), (0b1011, 1), (0b1011, 0), (0b0101, 1), (0b0000, 1)):
        await step(dut, model, req, lock)


@cocotb.test(timeout_time=40, timeout_unit="us")
async def every_owner_meets_every_input(dut):
    model = await start(dut)
    for owner in (None, 0, 1, 2, 3):
        for req in range(16):
            for lock in (0, 1):
                await step(dut, model, 0, 0)
                await step(dut, model, 0 if owner is None else 1 << owner, 0)
                await step(dut, model, req, lock)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def random_bursts(dut):
    model = await start(dut)
    req = 0
    for _ in range(500):
        req = random.choice((req, req ^ 1 << random.randrange(4), random.randrange(16)))
        await step(dut, model, req, int(random.random() < 0.6))


@cocotb.test(timeout_time=10, timeout_unit="us")
async def outputs_change_only_on_rising_edges(dut):
    model = await start(dut)
    for req, lock in ((0b0001, 0), (0b1000, 0), (0b0000, 1), (0b1111, 1), (0b0110, 0), (0b0000, 0)):
        dut.req.value = req
        dut.lock.value = lock
        await Timer(3, unit="ns")
        model.check(dut, "inputs changed while the clock was low")
        await step(dut, model, req, lock)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def reset_acts_without_a_clock_edge(dut):
    for _ in range(4):
        model = await start(dut)
        await step(dut, model, 0b0010, 0)
        await step(dut, model, 0b1110, 1)
        await Timer(2, unit="ns")
        dut.rst_n.value = 0
        await Timer(1, unit="ns")
        Model().check(dut, "rst_n has fallen between edges")
        await FallingEdge(dut.clk)
        Model().check(dut, "rst_n low, an edge with requests has passed")
        dut.rst_n.value = 1
        await Timer(2, unit="ns")
        Model().check(dut, "rst_n has risen, no edge has passed")
        model = Model()
        await step(dut, model, 0b1110, 1)  # the old owner, master 1, is forgotten
        await step(dut, model, random.randrange(16), 1)
