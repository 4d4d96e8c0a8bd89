"""Detector of 101101: overlaps, prefixes, gaps in the stream, saturating count and asynchronous reset against a model."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from harness_library import check, check_width

PATTERN = "101101"


class Model:
    def __init__(self):
        self.stream = ""
        self.detected = 0
        self.count = 0

    def edge(self, valid, bit):
        self.detected = 0
        if valid:
            self.stream = (self.stream + str(bit))[-len(PATTERN) :]
            self.detected = int(self.stream == PATTERN)
        self.count = min(15, self.count + self.detected)

    def check(self, dut, when):
        check(dut.detected, self.detected, when)
        check(dut.match_count, self.count, when)


async def start(dut):
    """Clock running, reset released while the clock is low."""
    dut.rst_n.value = 0
    dut.bit_valid.value = 0
    dut.bit_in.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst_n.value = 1
    model = Model()
    model.check(dut, "after reset")
    return model


async def step(dut, model, valid, bit):
    dut.bit_valid.value = valid
    dut.bit_in.value = bit
    await FallingEdge(dut.clk)
    model.edge(valid, bit)
    model.check(dut, f"stream ends with {model.stream or 'nothing'}, last edge had bit_valid={valid} bit_in={bit}")


async def send(dut, model, bits):
    for bit in bits:
        await step(dut, model, 1, int(bit))


@cocotb.test(timeout_time=10, timeout_unit="us")
async def ports_have_their_widths(dut):
    check_width(dut.match_count, 4)
    for signal in (dut.clk, dut.rst_n, dut.bit_valid, dut.bit_in, dut.detected):
        check_width(signal, 1)
    await Timer(1, unit="ns")


@cocotb.test(timeout_time=20, timeout_unit="us")
async def streams_of_the_specification(dut):
    for stream in ("101101", "101101101", "10101101", "101101101101", "110101101", "1011101101", "101100101101"):
        model = await start(dut)
        await send(dut, model, stream)
        assert model.detected, "the streams above end with a match"
        await step(dut, model, 1, 1)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def every_stream_of_six_bits_after_a_reset(dut):
    for bits in range(1 << len(PATTERN)):
        model = await start(dut)
        await send(dut, model, f"{bits:06b}")


@cocotb.test(timeout_time=40, timeout_unit="us")
async def every_prefix_then_a_wrong_bit_then_the_pattern(dut):
    for length in range(1, 7):
        model = await start(dut)
        wrong = str(1 - int(PATTERN[length - 1]))
        broken = PATTERN[: length - 1] + wrong
        for rest in range(6):  # the wrong bit may already belong to the next match
            await send(dut, model, broken + PATTERN[rest:])


@cocotb.test(timeout_time=20, timeout_unit="us")
async def gaps_do_not_matter(dut):
    model = await start(dut)
    for bit in PATTERN * 2:
        await step(dut, model, 1, int(bit))
        for _ in range(random.randrange(1, 4)):
            await step(dut, model, 0, random.randrange(2))
    for bit in PATTERN * 2:  # the idle level that would be the wrong next bit, and the right one
        for idle in (0, 1):
            await step(dut, model, 0, idle)
        await step(dut, model, 1, int(bit))


@cocotb.test(timeout_time=20, timeout_unit="us")
async def count_stops_at_fifteen(dut):
    model = await start(dut)
    await send(dut, model, "101" + "101" * 19)
    assert model.count == 15, "the stream above has 19 matches"
    await step(dut, model, 0, 1)
    await send(dut, model, "0" + PATTERN)


@cocotb.test(timeout_time=30, timeout_unit="us")
async def random_stream(dut):
    for _ in range(4):
        model = await start(dut)
        for _ in range(45):
            piece = random.choice((PATTERN, "101", "10", "1", "0", "1011", "10110"))
            for bit in piece:
                while random.random() < 0.15:
                    await step(dut, model, 0, random.randrange(2))
                await step(dut, model, 1, int(bit))


@cocotb.test(timeout_time=20, timeout_unit="us")
async def reset_forgets_at_once(dut):
    for taken in range(1, 7):
        model = await start(dut)
        await send(dut, model, PATTERN + "0" + PATTERN[:taken])
        await Timer(2, unit="ns")
        dut.rst_n.value = 0
        await Timer(1, unit="ns")
        Model().check(dut, "rst_n has fallen between edges")
        dut.bit_valid.value = 1
        dut.bit_in.value = 1
        await FallingEdge(dut.clk)
        Model().check(dut, "rst_n low, an edge with a valid bit has passed")
        dut.rst_n.value = 1
        await Timer(2, unit="ns")
        model = Model()
        model.check(dut, "rst_n has risen, no edge has passed")
        await send(dut, model, PATTERN[taken:] + "0" + PATTERN)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def outputs_change_only_on_rising_edges(dut):
    model = await start(dut)
    for bit in PATTERN + "01" + PATTERN:
        dut.bit_valid.value = 1
        dut.bit_in.value = int(bit)
        await Timer(3, unit="ns")
        model.check(dut, "inputs changed while the clock was low")
        await step(dut, model, 1, int(bit))
