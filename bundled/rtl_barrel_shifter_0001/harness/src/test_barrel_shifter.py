import os
import random

import cocotb
from cocotb.triggers import Timer

WIDTH = int(os.environ["WIDTH"])
MASK = (1 << WIDTH) - 1
LEFT, RIGHT, ARITHMETIC, ROTATE_LEFT, ROTATE_RIGHT = range(5)


def model(data, amount, mode):
    """(data_out, carry, zero)"""
    top = data >> (WIDTH - amount)  # the bits that leave at the top
    bottom = data & ((1 << amount) - 1)  # the bits that leave at the bottom
    carry = 0
    if amount and mode in (LEFT, ROTATE_LEFT):
        carry = top & 1
    elif amount and mode in (RIGHT, ARITHMETIC, ROTATE_RIGHT):
        carry = bottom >> (amount - 1)
    if mode == LEFT:
        out = data << amount & MASK
    elif mode == RIGHT:
        out = data >> amount
    elif mode == ARITHMETIC:
        signed = data - (1 << WIDTH) if data >> (WIDTH - 1) else data
        out = signed >> amount & MASK
    elif mode == ROTATE_LEFT:
        out = (data << amount & MASK) | top
    elif mode == ROTATE_RIGHT:
        out = data >> amount | bottom << (WIDTH - amount)
    else:
        out = data
    return out, carry, int(out == 0)


async def check(dut, data, amount, mode):
    dut.data_in.value = data
    dut.amount.value = amount
    dut.mode.value = mode
    await Timer(1, unit="ns")
    for name, expected in zip(("data_out", "carry", "zero"), model(data, amount, mode)):
        value = getattr(dut, name).value
        where = f"data_in={data:#x} amount={amount} mode={mode:03b}"
        assert value.is_resolvable, f"{name} has unknown bits: {value} with {where}"
        assert int(value) == expected, f"{name}: expected {expected:#x}, got {int(value):#x} with {where}"


@cocotb.test()
async def examples_of_the_specification(dut):
    widths = {"data_in": WIDTH, "amount": WIDTH.bit_length() - 1, "mode": 3, "data_out": WIDTH, "carry": 1, "zero": 1}
    for name, width in widths.items():
        assert len(getattr(dut, name)) == width, f"{name}: expected {width} bits, got {len(getattr(dut, name))}"
    data = 0b10010110 << (WIDTH - 8)
    for amount, mode in ((3, LEFT), (3, ARITHMETIC), (3, ROTATE_LEFT), (3, ROTATE_RIGHT), (5, 0b110)):
        await check(dut, data, amount, mode)
    await check(dut, 1 << (WIDTH - 1), 1, LEFT)


@cocotb.test()
async def one_bit_through_every_amount(dut):
    for mode in range(8):
        for amount in range(WIDTH):
            await check(dut, 1, amount, mode)
            await check(dut, 1 << (WIDTH - 1), amount, mode)
            await check(dut, MASK ^ 1, amount, mode)


@cocotb.test()
async def amount_zero_changes_nothing(dut):
    for mode in range(8):
        for data in (MASK, 1, 1 << (WIDTH - 1), random.getrandbits(WIDTH)):
            await check(dut, data, 0, mode)


@cocotb.test()
async def zero_operand_and_zero_result(dut):
    for mode in range(8):
        for amount in (0, 1, WIDTH - 1):
            await check(dut, 0, amount, mode)
            await check(dut, MASK, amount, mode)


@cocotb.test()
async def random_operations(dut):
    for _ in range(500):
        await check(dut, random.getrandbits(WIDTH), random.randrange(WIDTH), random.choice([0, 1, 2, 2, 3, 4, random.randrange(8)]))
