"""UART transmitter: every cycle of every frame, handshake, gapless frames and asynchronous reset against a model."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from harness_library import check, check_width

CLKS_PER_BIT = int(os.environ["CLKS_PER_BIT"])
PARITY = int(os.environ["PARITY"])
STOP_BITS = int(os.environ["STOP_BITS"])

FRAME_CYCLES = CLKS_PER_BIT * (9 + (PARITY != 0) + STOP_BITS)


def frame(byte):
    """The level of the line in each cycle of the byte's frame."""
    bits = [0] + [byte >> i & 1 for i in range(8)]
    ones = bin(byte).count("1")
    if PARITY:
        bits.append(ones % 2 if PARITY == 1 else 1 - ones % 2)
    bits += [1] * STOP_BITS
    return [bit for bit in bits for _ in range(CLKS_PER_BIT)]


class Model:
    """`line` holds the levels of the present and the later cycles of the frame; it is empty when idle."""

    def __init__(self):
        self.line = []

    @property
    def ready(self):
        return len(self.line) <= 1

    def edge(self, valid, byte):
        if self.ready:
            self.line = frame(byte) if valid else []
        else:
            self.line = self.line[1:]

    def check(self, dut, when):
        left = len(self.line)
        when = f"{when}, cycle {FRAME_CYCLES - left} of {FRAME_CYCLES}" if left else f"{when}, idle"
        check(dut.tx, self.line[0] if left else 1, when)
        check(dut.tx_busy, int(left > 0), when)
        check(dut.tx_done, int(left == 1), when)
        check(dut.tx_ready, int(self.ready), when)


async def start(dut):
    """Clock running, reset released while the clock is low."""
    dut.rst_n.value = 0
    dut.tx_valid.value = 0
    dut.tx_data.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst_n.value = 1
    model = Model()
    model.check(dut, "after reset")
    return model


async def step(dut, model, valid, byte, when=""):
    dut.tx_valid.value = valid
    dut.tx_data.value = byte
    await FallingEdge(dut.clk)
    model.edge(valid, byte)
    model.check(dut, when or f"edge with tx_valid={valid} tx_data={byte:#04x}")


async def idle(dut, model, cycles):
    for _ in range(cycles):
        await step(dut, model, 0, random.getrandbits(8))


async def send(dut, model, byte):
    """Offer the byte in one cycle only, then junk data, until the last cycle of the frame."""
    await step(dut, model, 1, byte)
    while not model.ready:
        await step(dut, model, 0, random.getrandbits(8), f"frame of {byte:#04x}")


@cocotb.test(timeout_time=10, timeout_unit="us")
async def ports_have_their_widths(dut):
    check_width(dut.tx_data, 8)
    for name in ("clk", "rst_n", "tx_valid", "tx_ready", "tx", "tx_busy", "tx_done"):
        check_width(getattr(dut, name), 1)
    await Timer(1, unit="ns")


@cocotb.test(timeout_time=50, timeout_unit="us")
async def single_frames_with_pauses(dut):
    model = await start(dut)
    await idle(dut, model, 3)
    for byte in (0x00, 0xFF, 0x01, 0x80, 0x4C, random.getrandbits(8)):
        await send(dut, model, byte)
        await idle(dut, model, random.randrange(1, 4))


@cocotb.test(timeout_time=50, timeout_unit="us")
async def frames_without_a_gap(dut):
    model = await start(dut)
    for byte in (0xA5, 0x00, 0xFF, random.getrandbits(8)):
        await send(dut, model, byte)  # leaves off in the last cycle, so the next one is taken at its end
    await idle(dut, model, 3)


@cocotb.test(timeout_time=60, timeout_unit="us")
async def an_offer_waits_until_ready(dut):
    model = await start(dut)
    bytes_ = [random.getrandbits(8) for _ in range(3)]
    await step(dut, model, 1, bytes_[0])
    for byte in bytes_[1:]:
        taken = False
        for _ in range(FRAME_CYCLES):  # on offer through the whole frame before
            taken = model.ready
            await step(dut, model, 1, byte)
        assert taken, "the model takes the offer at the end of the frame"
    await idle(dut, model, FRAME_CYCLES + 2)

    await send(dut, model, 0x3C)
    await idle(dut, model, 1)
    await step(dut, model, 1, 0x5A)
    await step(dut, model, 1, 0xFF)  # offered too early and taken back: not remembered
    await idle(dut, model, FRAME_CYCLES + 2)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def random_offers(dut):
    model = await start(dut)
    for _ in range(6 * FRAME_CYCLES):
        await step(dut, model, int(random.random() < 0.3), random.getrandbits(8))


@cocotb.test(timeout_time=20, timeout_unit="us")
async def outputs_do_not_depend_on_inputs_within_a_cycle(dut):
    model = await start(dut)
    for _ in range(2 * FRAME_CYCLES + 3):
        for valid in (1, 0):
            dut.tx_valid.value = valid
            dut.tx_data.value = random.getrandbits(8)
            await Timer(1, unit="ns")
            model.check(dut, f"tx_valid changed to {valid} while the clock was low")
        await step(dut, model, int(model.ready), random.getrandbits(8))


@cocotb.test(timeout_time=60, timeout_unit="us")
async def reset_gives_up_the_frame_at_once(dut):
    model = await start(dut)
    for cycles in (1, CLKS_PER_BIT, 3 * CLKS_PER_BIT + 1, FRAME_CYCLES - 1, FRAME_CYCLES):
        await step(dut, model, 1, 0x00)
        for _ in range(cycles - 1):
            await step(dut, model, 0, 0xFF)
        await Timer(2, unit="ns")
        dut.rst_n.value = 0
        await Timer(1, unit="ns")
        model = Model()
        model.check(dut, f"rst_n has fallen between edges in cycle {cycles - 1} of a frame")
        dut.tx_valid.value = 1
        dut.tx_data.value = 0x55
        for _ in range(2):
            await FallingEdge(dut.clk)
            model.check(dut, "rst_n low, an edge with tx_valid high has passed")
        dut.rst_n.value = 1
        await Timer(2, unit="ns")
        model.check(dut, "rst_n has risen, no edge has passed")
        await send(dut, model, random.getrandbits(8))
        await idle(dut, model, 2)
