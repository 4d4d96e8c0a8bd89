"""Arbiter of eight clients with override: choice, timing and synchronous reset against a model."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from harness_library import check, check_width


def winner(req, override):
    """(grant, valid, grant_index) for one edge's inputs."""
    candidates = override or req
    for index in range(8):
        if candidates >> index & 1:
            return 1 << index, 1, index
    return 0, 0, 0


def check_outputs(dut, expected, when):
    grant, valid, index = expected
    check(dut.grant, grant, when)
    check(dut.valid, valid, when)
    check(dut.grant_index, index, when)


async def start(dut):
    """Clock running, one edge of reset done, reset released; returns just after a falling edge."""
    dut.reset.value = 1
    dut.req.value = 0
    dut.priority_override.value = 0
    Clock(dut.clk, 10, unit="ns", impl="gpi").start()  # toggled without Python: a third less CPU for each cycle
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.reset.value = 0


def vectors_of_every_winner():
    """Every bit as the lowest one that is set: alone, with all the higher ones, and with some of them."""
    for bit in range(8):
        yield 1 << bit
        yield 0xFF << bit & 0xFF
        for _ in range(5):
            yield (random.randrange(256) | 1) << bit & 0xFF


async def step(dut, req, override, reset=0):
    """Drive while the clock is low, let one rising edge pass, check at the next falling edge."""
    dut.req.value = req
    dut.priority_override.value = override
    dut.reset.value = reset
    await FallingEdge(dut.clk)
    expected = (0, 0, 0) if reset else winner(req, override)
    check_outputs(dut, expected, f"after an edge with reset={reset} req={req:08b} override={override:08b}")


@cocotb.test(timeout_time=10, timeout_unit="us")
async def ports_have_their_widths(dut):
    for signal in (dut.req, dut.priority_override, dut.grant):
        check_width(signal, 8)
    for signal in (dut.clk, dut.reset, dut.valid):
        check_width(signal, 1)
    check_width(dut.grant_index, 3)
    await Timer(1, unit="ns")


@cocotb.test(timeout_time=10, timeout_unit="us")
async def lowest_request_wins(dut):
    await start(dut)
    await step(dut, 0, 0)
    for req in vectors_of_every_winner():
        await step(dut, req, 0)
    await step(dut, 0, 0)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def override_beats_requests(dut):
    await start(dut)
    for override in vectors_of_every_winner():
        await step(dut, random.randrange(256), override)
    for bit in range(8):  # a client that wins by override alone: nobody asks, everybody else asks, all ask
        await step(dut, 0, 1 << bit)
        await step(dut, 0xFF ^ 1 << bit, 1 << bit)
        await step(dut, 0xFF, 1 << bit)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def random_traffic_with_resets(dut):
    await start(dut)
    for _ in range(60):
        req = random.choice((0, 1 << random.randrange(8), random.randrange(256)))
        override = random.choice((0, 0, 1 << random.randrange(8), random.randrange(256)))
        await step(dut, req, override, reset=random.random() < 0.1)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def outputs_change_only_on_rising_edges(dut):
    await start(dut)
    for before, after in (((0x80, 0), (0x01, 0)), ((0x01, 0), (0x01, 0x40)), ((0, 0), (0xFF, 0xFF)), ((0xF0, 0), (0, 0))):
        await step(dut, *before)
        dut.req.value, dut.priority_override.value = after
        await Timer(3, unit="ns")
        check_outputs(dut, winner(*before), "inputs changed while the clock was low")
        await FallingEdge(dut.clk)
        check_outputs(dut, winner(*after), "one edge after the change")


@cocotb.test(timeout_time=10, timeout_unit="us")
async def reset_clears_under_load_and_is_active_high(dut):
    await start(dut)
    for _ in range(5):
        req, override = random.randrange(1, 256), random.choice((0, random.randrange(1, 256)))
        await step(dut, req, override)
        await step(dut, req, override, reset=1)
        await step(dut, req, override, reset=1)
        await step(dut, req, override)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def reset_between_edges_has_no_effect(dut):
    await start(dut)
    await step(dut, 0x30, 0)
    dut.reset.value = 1
    await Timer(2, unit="ns")
    check_outputs(dut, winner(0x30, 0), "reset raised between edges, none has passed")
    dut.reset.value = 0
    await Timer(1, unit="ns")
    check_outputs(dut, winner(0x30, 0), "reset raised and lowered again between edges")
    await step(dut, 0x30, 0)

    await step(dut, 0x30, 0x80, reset=1)
    dut.reset.value = 0
    await Timer(2, unit="ns")
    check_outputs(dut, (0, 0, 0), "reset lowered between edges, none has passed")
    await step(dut, 0x30, 0x80)
