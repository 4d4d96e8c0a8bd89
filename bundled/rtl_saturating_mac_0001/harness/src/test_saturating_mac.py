import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

DATA_W = int(os.environ["DATA_W"])
ACC_W = int(os.environ["ACC_W"])
LOW, HIGH = -(1 << (DATA_W - 1)), (1 << (DATA_W - 1)) - 1
ACC_LOW, ACC_HIGH = -(1 << (ACC_W - 1)), (1 << (ACC_W - 1)) - 1


class Model:
    def __init__(self):
        self.stage = (0, 0, 0)  # valid, clear, product
        self.acc = self.saturated = self.out_valid = 0

    def edge(self, in_valid, clear, a, b):
        valid, clear_now, product = self.stage
        if clear_now:
            self.acc = self.saturated = 0
        if valid:
            total = self.acc + product
            self.acc = max(ACC_LOW, min(ACC_HIGH, total))
            self.saturated |= int(self.acc != total)
        self.out_valid = valid
        self.stage = (in_valid, clear, a * b)


def check(dut, model, when):
    for signal in (dut.out_valid, dut.acc, dut.saturated):
        assert signal.value.is_resolvable, f"{signal._name} has unknown bits: {signal.value} {when}"
    raw = dut.acc.value.to_unsigned()
    got = (int(dut.out_valid.value), raw - (1 << ACC_W) if raw >> (ACC_W - 1) else raw, int(dut.saturated.value))
    expected = (model.out_valid, model.acc, model.saturated)
    assert got == expected, f"(out_valid, acc, saturated): expected {expected}, got {got} {when}"


def drive(dut, in_valid, clear, a, b):
    dut.in_valid.value = in_valid
    dut.clear.value = clear
    # As bit patterns, so that the declared sign of the port does not matter to the bench.
    dut.a.value = a & ((1 << DATA_W) - 1)
    dut.b.value = b & ((1 << DATA_W) - 1)


async def start(dut):
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    return await reset(dut)


async def reset(dut):
    drive(dut, 1, 0, HIGH, HIGH)
    dut.rst_n.value = 0
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    model = Model()
    check(dut, model, "in reset")
    dut.rst_n.value = 1
    return model


async def step(dut, model, in_valid=0, clear=0, a=0, b=0):
    drive(dut, in_valid, clear, a, b)
    await FallingEdge(dut.clk)
    model.edge(in_valid, clear, a, b)
    check(dut, model, f"after an edge with in_valid={in_valid} clear={clear} a={a} b={b}")


@cocotb.test()
async def widths_and_latency(dut):
    widths = {"a": DATA_W, "b": DATA_W, "acc": ACC_W, "out_valid": 1, "saturated": 1}
    for name, width in widths.items():
        assert len(getattr(dut, name)) == width, f"{name}: expected {width} bits, got {len(getattr(dut, name))}"
    model = await start(dut)
    await step(dut, model, 1, 0, 3, 5)
    for _ in range(3):
        await step(dut, model, 0, 0, 7, 7)
    await step(dut, model, 1, 0, -1, 2)
    await step(dut, model, 1, 0, HIGH, 1)
    for _ in range(3):
        await step(dut, model)


@cocotb.test()
async def products_of_extreme_operands(dut):
    model = await start(dut)
    for a in (LOW, -1, 0, 1, HIGH):
        for b in (LOW, -1, 0, 1, HIGH):
            await step(dut, model, 1, 1, a, b)
    await step(dut, model)


@cocotb.test()
async def saturates_at_both_ends(dut):
    model = await start(dut)
    steps = (1 << ACC_W) // (1 << (2 * DATA_W - 2)) + 3
    for _ in range(steps):
        await step(dut, model, 1, 0, LOW, LOW)
    assert model.acc == ACC_HIGH and model.saturated
    await step(dut, model, 1, 0, -1, 1)
    await step(dut, model, 1, 0, 1, 1)
    await step(dut, model, 1, 0, 1, 1)
    for _ in range(2 * steps):
        await step(dut, model, 1, 0, LOW, HIGH)
    assert model.acc == ACC_LOW
    await step(dut, model, 1, 0, 1, 1)
    await step(dut, model, 1, 0, 1, -1)
    await step(dut, model, 1, 0, 1, -1)
    await step(dut, model, 0, 1)
    await step(dut, model)
    await step(dut, model)


@cocotb.test()
async def exact_limits_are_not_clipped(dut):
    """Walks onto the largest and the smallest value exactly, then one step beyond."""
    await start(dut)
    for limit, sign in ((ACC_HIGH, 1), (ACC_LOW, -1)):
        model = await reset(dut)
        total = 0
        while total != limit:
            left = abs(limit - total)
            a = min(HIGH, left)
            b = max(1, min(HIGH, left // a))
            await step(dut, model, 1, 0, a, sign * b)
            total += sign * a * b
        await step(dut, model)
        assert model.acc == limit and not model.saturated
        await step(dut, model, 1, 0, 1, sign)
        await step(dut, model, 0, 0)
        assert model.acc == limit and model.saturated


@cocotb.test()
async def clear_travels_with_its_sample(dut):
    model = await start(dut)
    await step(dut, model, 1, 0, 2, 3)
    await step(dut, model, 1, 0, 2, 2)
    await step(dut, model, 1, 1, 5, -3)
    await step(dut, model, 1, 0, 1, 1)
    await step(dut, model, 0, 1, 4, 4)
    await step(dut, model, 1, 0, -2, 3)
    for _ in range(3):
        await step(dut, model)


@cocotb.test()
async def reset_is_synchronous_and_empties_the_pipeline(dut):
    model = await start(dut)
    await step(dut, model, 1, 0, 5, 5)
    await step(dut, model, 1, 0, 3, 2)
    dut.rst_n.value = 0
    await Timer(2, unit="ns")
    check(dut, model, "with rst_n low before the edge")
    dut.rst_n.value = 1
    await step(dut, model, 1, 0, 1, 7)
    # The sample in the first stage is lost, and so is the one at the input.
    dut.rst_n.value = 0
    drive(dut, 1, 0, 6, 6)
    await FallingEdge(dut.clk)
    model = Model()
    check(dut, model, "after one edge with rst_n low")
    dut.rst_n.value = 1
    for _ in range(3):
        await step(dut, model)


@cocotb.test()
async def random_samples(dut):
    model = await start(dut)
    for _ in range(300):
        a, b = (random.choice([LOW, HIGH, random.randint(LOW, HIGH), random.randint(LOW, HIGH)]) for _ in range(2))
        await step(dut, model, int(random.random() < 0.8), int(random.random() < 0.05), a, b)
