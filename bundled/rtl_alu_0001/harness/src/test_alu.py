"""ALU: every operation, flags, carry chain, holding, timing and synchronous reset against a model."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer
from harness_library import check, check_width

WIDTH = int(os.environ["WIDTH"])
MASK = 2**WIDTH - 1
SIGN = 1 << WIDTH - 1
CORNERS = (0, 1, 2, SIGN - 1, SIGN, SIGN + 1, MASK - 1, MASK)

ADD, SUB, AND, OR, XOR, SLL, SRL, SRA, SLT, SLTU, ADC = range(11)


def signed(value):
    return value - 2 * SIGN if value & SIGN else value


def compute(op, a, b, carry_in):
    """(result, carry, overflow, illegal) of one operation."""
    n = b % WIDTH
    carry = overflow = 0
    if op in (ADD, ADC):
        c = carry_in if op == ADC else 0
        exact = a + b + c
        carry = exact >> WIDTH
        overflow = int(not -SIGN <= signed(a) + signed(b) + c < SIGN)
    elif op == SUB:
        exact = a - b
        carry = int(a < b)
        overflow = int(not -SIGN <= signed(a) - signed(b) < SIGN)
    elif op == SLL:
        exact = a << n
        carry = exact >> WIDTH & 1
    elif op in (SRL, SRA):
        exact = (signed(a) if op == SRA else a) >> n
        carry = a >> n - 1 & 1 if n else 0
    elif op in (AND, OR, XOR):
        exact = {AND: a & b, OR: a | b, XOR: a ^ b}[op]
    elif op == SLT:
        exact = int(signed(a) < signed(b))
    elif op == SLTU:
        exact = int(a < b)
    else:
        return 0, 0, 0, 1
    return exact & MASK, carry, overflow, 0


class Model:
    def __init__(self):
        self.out_valid = self.result = self.carry = self.overflow = self.illegal = 0

    def edge(self, in_valid, op, a, b):
        self.out_valid = in_valid
        if in_valid:
            self.result, self.carry, self.overflow, self.illegal = compute(op, a, b, self.carry)

    def check(self, dut, when):
        check(dut.out_valid, self.out_valid, when)
        check(dut.result, self.result, when)
        check(dut.zero, int(self.result == 0), when)
        check(dut.negative, int(self.result & SIGN != 0), when)
        check(dut.carry, self.carry, when)
        check(dut.overflow, self.overflow, when)
        check(dut.illegal, self.illegal, when)


async def start(dut):
    """Clock running, one edge of reset done."""
    dut.rst.value = 1
    dut.in_valid.value = 1
    dut.op.value = 0
    dut.a.value = 1
    dut.b.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    model = Model()
    model.check(dut, "after reset")
    return model


async def step(dut, model, op, a, b, in_valid=1):
    dut.in_valid.value = in_valid
    dut.op.value = op
    dut.a.value = a
    dut.b.value = b
    await FallingEdge(dut.clk)
    carry_before = model.carry
    model.edge(in_valid, op, a, b)
    model.check(dut, f"edge with in_valid={in_valid} op={op} a={a:#x} b={b:#x}, carry was {carry_before}")


def operand():
    return random.choice((random.choice(CORNERS), random.getrandbits(WIDTH)))


@cocotb.test(timeout_time=10, timeout_unit="us")
async def ports_have_their_widths(dut):
    check_width(dut.op, 4)
    for signal in (dut.a, dut.b, dut.result):
        check_width(signal, WIDTH)
    for name in ("clk", "rst", "in_valid", "out_valid", "zero", "negative", "carry", "overflow", "illegal"):
        check_width(getattr(dut, name), 1)
    await Timer(1, unit="ns")


@cocotb.test(timeout_time=20, timeout_unit="us")
async def arithmetic_and_compare_at_the_corners(dut):
    model = await start(dut)
    for op in (ADD, SUB, SLT, SLTU):
        for a in CORNERS:
            for b in random.sample(CORNERS, 5):
                await step(dut, model, op, a, b)
    for op, a, b in ((ADD, SIGN - 1, 1), (SUB, SIGN, 1), (SUB, 0, SIGN), (SLT, SIGN, 1), (SLT, SIGN - 1, MASK), (SLTU, SIGN, 1)):
        await step(dut, model, op, a, b)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def shifts_by_every_amount(dut):
    model = await start(dut)
    for op in (SLL, SRL, SRA):
        for n in range(WIDTH):
            a = random.getrandbits(WIDTH)
            high_bits = random.getrandbits(WIDTH) // WIDTH * WIDTH & MASK  # must be ignored
            await step(dut, model, op, a, n)
            await step(dut, model, op, ~a & MASK, high_bits | n)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def add_with_carry_uses_the_last_carry(dut):
    model = await start(dut)
    carry_makers = ((ADD, MASK, 1), (ADD, 1, 1), (SUB, 0, 1), (SUB, 1, 0), (SLL, SIGN, 1), (SRL, 1, 1), (AND, MASK, MASK), (15, MASK, MASK))
    for maker in carry_makers:
        for a, b in ((0, 0), (MASK, 0), (SIGN - 1, 0), (MASK, MASK), (SIGN, MASK), (operand(), operand())):
            await step(dut, model, *maker)
            for _ in range(random.randrange(3)):
                await step(dut, model, random.randrange(16), operand(), operand(), in_valid=0)
            await step(dut, model, ADC, a, b)
            await step(dut, model, ADC, 0, 0)
    await step(dut, model, SUB, 0, 1)
    await step(dut, model, ADD, 1, 1)  # ADD itself takes no carry


@cocotb.test(timeout_time=20, timeout_unit="us")
async def unknown_opcodes_are_reported(dut):
    model = await start(dut)
    for op in range(16):
        await step(dut, model, op, random.randint(1, MASK), random.randint(1, MASK))
    for op in range(11, 16):
        await step(dut, model, ADD, MASK, MASK)
        await step(dut, model, op, MASK, operand())
        await step(dut, model, OR, 0, 1)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def random_operations_and_pauses(dut):
    model = await start(dut)
    for _ in range(300):
        await step(dut, model, random.randrange(16 if random.random() < 0.3 else 11), operand(), operand(), int(random.random() < 0.8))


@cocotb.test(timeout_time=10, timeout_unit="us")
async def outputs_change_only_on_rising_edges(dut):
    model = await start(dut)
    for op, a, b in ((ADD, MASK, 2), (SUB, 1, 2), (XOR, SIGN, 0), (12, 1, 1), (SRA, SIGN, 1), (ADC, 0, 0)):
        dut.in_valid.value = 1
        dut.op.value = op
        dut.a.value = a
        dut.b.value = b
        await Timer(3, unit="ns")
        model.check(dut, "inputs changed while the clock was low")
        await step(dut, model, op, a, b)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def reset_clears_on_an_edge_only(dut):
    model = await start(dut)
    for op, a, b in ((ADD, MASK, MASK), (SUB, SIGN, 1), (13, 1, 1), (ADD, SIGN, SIGN)):
        await step(dut, model, op, a, b)
        dut.rst.value = 1
        await Timer(2, unit="ns")
        model.check(dut, "rst raised between edges, none has passed")
        dut.rst.value = 0
        await Timer(1, unit="ns")
        await step(dut, model, op, a, b)
        dut.rst.value = 1
        await FallingEdge(dut.clk)
        model = Model()
        model.check(dut, "rst high at an edge with in_valid high")
        dut.rst.value = 0
        await step(dut, model, ADC, 1, 1)
