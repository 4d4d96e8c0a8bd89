"""CRC engine: the computation, message boundaries, clear, timing and asynchronous reset against a model."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from harness_library import check, check_width

WIDTH, POLY, INIT, REFLECT_IN, REFLECT_OUT, XOR_OUT = (
    int(os.environ[name]) for name in ("WIDTH", "POLY", "INIT", "REFLECT_IN", "REFLECT_OUT", "XOR_OUT")
)
CHECK_TEXT = b"123456789"
PUBLISHED = {(16, 0x1021, 0xFFFF, 0, 0, 0): 0x29B1, (12, 0x80F, 0, 0, 1, 0): 0xDAF}  # CRCs of CHECK_TEXT


def mirror(value, bits):
    return int(f"{value:0{bits}b}"[::-1], 2)


def crc_of(message):
    remainder = INIT
    for byte in message:
        byte = mirror(byte, 8) if REFLECT_IN else byte
        for i in range(7, -1, -1):
            feedback = remainder >> WIDTH - 1 ^ byte >> i & 1
            remainder = (remainder << 1 ^ (POLY if feedback else 0)) & 2**WIDTH - 1
    return (mirror(remainder, WIDTH) if REFLECT_OUT else remainder) ^ XOR_OUT


class Model:
    def __init__(self):
        self.message = b""
        self.complete = False
        self.crc_valid = 0

    def edge(self, valid, byte, last, clear):
        self.crc_valid = 0
        if clear:
            self.__init__()
        elif valid:
            self.message = bytes([byte]) if self.complete else self.message + bytes([byte])
            self.complete = bool(last)
            self.crc_valid = last

    def check(self, dut, when):
        when = f"{when}, message {self.message.hex(' ') or 'empty'}"
        check(dut.crc, crc_of(self.message), when)
        check(dut.crc_valid, self.crc_valid, when)


async def start(dut):
    """Clock running, reset released while the clock is low."""
    dut.rst.value = 1
    dut.clear.value = 0
    dut.data_valid.value = 0
    dut.data.value = 0
    dut.last.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    model = Model()
    model.check(dut, "after reset")
    return model


def drive(dut, valid, byte, last, clear):
    dut.data_valid.value = valid
    dut.data.value = byte
    dut.last.value = last
    dut.clear.value = clear


async def step(dut, model, valid, byte, last=0, clear=0):
    drive(dut, valid, byte, last, clear)
    await FallingEdge(dut.clk)
    model.edge(valid, byte, last, clear)
    model.check(dut, f"edge with data_valid={valid} data={byte:#04x} last={last} clear={clear}")


async def send(dut, model, message):
    for i, byte in enumerate(message):
        await step(dut, model, 1, byte, last=int(i == len(message) - 1))


@cocotb.test(timeout_time=10, timeout_unit="us")
async def ports_have_their_widths(dut):
    check_width(dut.data, 8)
    check_width(dut.crc, WIDTH)
    for name in ("clk", "rst", "clear", "data_valid", "last", "crc_valid"):
        check_width(getattr(dut, name), 1)
    await Timer(1, unit="ns")


@cocotb.test(timeout_time=10, timeout_unit="us")
async def published_check_value(dut):
    model = await start(dut)
    await send(dut, model, CHECK_TEXT)
    expected = PUBLISHED.get((WIDTH, POLY, INIT, REFLECT_IN, REFLECT_OUT, XOR_OUT), crc_of(CHECK_TEXT))
    check(dut.crc, expected, "CRC of 123456789")


@cocotb.test(timeout_time=20, timeout_unit="us")
async def every_bit_of_a_byte_counts(dut):
    model = await start(dut)
    for byte in (0x00, 0xFF, *(1 << i for i in range(8))):
        await send(dut, model, [byte])
        await send(dut, model, [byte, random.getrandbits(8)])


@cocotb.test(timeout_time=20, timeout_unit="us")
async def messages_follow_each_other(dut):
    model = await start(dut)
    for _ in range(12):
        await send(dut, model, random.randbytes(random.randrange(1, 6)))
        for _ in range(random.choice((0, 0, 1, 3))):  # the CRC stays, crc_valid does not
            await step(dut, model, 0, random.getrandbits(8), last=random.randrange(2))


@cocotb.test(timeout_time=20, timeout_unit="us")
async def last_without_data_means_nothing(dut):
    model = await start(dut)
    await step(dut, model, 0, 0xAA, last=1)
    await step(dut, model, 1, 0x12)
    await step(dut, model, 0, 0x34, last=1)
    await step(dut, model, 1, 0x56)
    await step(dut, model, 0, 0x78)
    await step(dut, model, 1, 0x9A, last=1)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def clear_gives_up_the_message(dut):
    model = await start(dut)
    for valid, last in ((0, 0), (1, 0), (1, 1)):
        await step(dut, model, 1, 0x5A)
        await step(dut, model, 1, 0xC3)
        await step(dut, model, valid, 0x77, last=last, clear=1)
        await step(dut, model, 0, 0x11)
        await send(dut, model, CHECK_TEXT[:3])
        await step(dut, model, valid, 0x77, last=last, clear=1)  # right after a complete message


@cocotb.test(timeout_time=20, timeout_unit="us")
async def random_operation(dut):
    model = await start(dut)
    for _ in range(250):
        valid, last = int(random.random() < 0.7), int(random.random() < 0.25)
        await step(dut, model, valid, random.getrandbits(8), last=last, clear=int(random.random() < 0.06))


@cocotb.test(timeout_time=10, timeout_unit="us")
async def outputs_change_only_on_rising_edges(dut):
    model = await start(dut)
    for valid, last, clear in ((1, 0, 0), (1, 1, 0), (1, 1, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1), (1, 1, 0)):
        byte = random.getrandbits(8)
        drive(dut, valid, byte, last, clear)
        await Timer(3, unit="ns")
        model.check(dut, "inputs changed while the clock was low")
        await step(dut, model, valid, byte, last, clear)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def reset_acts_without_a_clock_edge(dut):
    for last in (0, 1):
        model = await start(dut)
        await step(dut, model, 1, 0x42)
        await step(dut, model, 1, 0x99, last=last)
        await Timer(2, unit="ns")
        dut.rst.value = 1
        await Timer(1, unit="ns")
        Model().check(dut, "rst has risen between edges")
        await FallingEdge(dut.clk)
        Model().check(dut, "rst high, an edge with data_valid high has passed")
        dut.rst.value = 0
        await Timer(2, unit="ns")
        model = Model()
        model.check(dut, "rst has fallen, no edge has passed")
        await send(dut, model, CHECK_TEXT[:2])
