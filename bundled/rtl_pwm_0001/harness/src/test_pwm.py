import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

WIDTH = int(os.environ["WIDTH"])
TOP = (1 << WIDTH) - 1


class Model:
    """The specification's state, advanced once per rising edge."""

    def __init__(self):
        self.running = self.cnt = self.duty = self.period = 0

    def edge(self, enable, duty, period):
        if not enable or not self.running or self.cnt == self.period:
            self.cnt, self.duty, self.period = 0, duty, period
        else:
            self.cnt += 1
        self.running = enable

    def outputs(self):
        return int(self.running and self.cnt < self.duty), int(self.running and self.cnt == 0)


def check(dut, expected, when):
    got = []
    for signal in (dut.pwm_out, dut.period_start):
        assert signal.value.is_resolvable, f"{signal._name} is unknown {when}"
        got.append(int(signal.value))
    assert tuple(got) == expected, f"(pwm_out, period_start): expected {expected}, got {tuple(got)} {when}"


async def start(dut):
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    dut.enable.value = 0
    dut.duty.value = 0
    dut.period.value = 0
    dut.rst_n.value = 0
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    check(dut, (0, 0), "in reset")
    dut.rst_n.value = 1
    return Model()


async def run(dut, model, enable, duty, period, cycles=1):
    dut.enable.value = enable
    dut.duty.value = duty
    dut.period.value = period
    for k in range(cycles):
        await FallingEdge(dut.clk)
        model.edge(enable, duty, period)
        check(dut, model.outputs(), f"in cycle {k} of enable={enable} duty={duty} period={period} (cnt={model.cnt})")


@cocotb.test()
async def example_of_the_specification(dut):
    for name, width in {"duty": WIDTH, "period": WIDTH, "pwm_out": 1, "period_start": 1}.items():
        assert len(getattr(dut, name)) == width, f"{name}: expected {width} bits, got {len(getattr(dut, name))}"
    model = await start(dut)
    wave = []
    for k in range(12):
        await run(dut, model, 1, *((2, 4) if k < 3 else (4, 5)))
        wave.append(int(dut.pwm_out.value))
    assert wave == [1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1], f"wave of the example: got {wave}"


@cocotb.test()
async def duty_from_none_to_all(dut):
    model = await start(dut)
    for duty in (0, 1, 4, 5, 6, 7, TOP):
        await run(dut, model, 0, duty, 5)
        await run(dut, model, 1, duty, 5, cycles=13)
    for duty in (0, 1, TOP):
        await run(dut, model, 0, duty, 0)
        await run(dut, model, 1, duty, 0, cycles=4)


@cocotb.test()
async def longest_period(dut):
    model = await start(dut)
    await run(dut, model, 1, TOP, TOP, cycles=TOP + 3)


@cocotb.test()
async def new_values_wait_for_the_next_period(dut):
    model = await start(dut)
    await run(dut, model, 1, 3, 9, cycles=2)
    await run(dut, model, 1, 8, 9, cycles=3)
    await run(dut, model, 1, 1, 2, cycles=3)
    await run(dut, model, 1, 6, 12, cycles=2)
    await run(dut, model, 1, 2, 3, cycles=20)


@cocotb.test()
async def switching_off_ends_the_period(dut):
    model = await start(dut)
    await run(dut, model, 1, 6, 9, cycles=4)
    await run(dut, model, 0, 6, 9, cycles=3)
    await run(dut, model, 0, 2, 3, cycles=1)
    await run(dut, model, 1, 3, 4, cycles=7)
    # Outputs are decoded from registers: a change of the inputs within the cycle does nothing.
    before = model.outputs()
    for enable, duty, period in ((0, 0, 0), (1, TOP, 0), (1, 0, TOP), (1, 3, 4)):
        dut.enable.value = enable
        dut.duty.value = duty
        dut.period.value = period
        await Timer(1, unit="ns")
        check(dut, before, f"in mid-cycle with enable={enable} duty={duty} period={period}")
    await run(dut, model, 1, 3, 4, cycles=6)


@cocotb.test()
async def reset_is_asynchronous(dut):
    model = await start(dut)
    await run(dut, model, 1, TOP, 2, cycles=3 + 1)
    check(dut, (1, 1), "before reset")
    dut.rst_n.value = 0
    await Timer(2, unit="ns")
    check(dut, (0, 0), "at once after rst_n fell")
    for _ in range(2):
        await FallingEdge(dut.clk)
        check(dut, (0, 0), "held in reset")
    dut.rst_n.value = 1
    await Timer(2, unit="ns")
    check(dut, (0, 0), "after release, before the edge")
    await run(dut, Model(), 1, 2, 3, cycles=9)


@cocotb.test()
async def random_operation(dut):
    model = await start(dut)
    for _ in range(50):
        period = random.choice([0, 1, random.randint(0, 9), random.randint(0, TOP)])
        duty = random.choice([0, period, min(TOP, period + 1), random.randint(0, TOP), random.randint(0, period)])
        await run(dut, model, int(random.random() < 0.85), duty, period, cycles=random.randint(1, 12))
