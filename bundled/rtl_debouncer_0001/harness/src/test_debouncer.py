import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

STABLE = int(os.environ["STABLE_CYCLES"])


class Model:
    def __init__(self):
        self.first = self.second = self.count = self.clean = self.rise = self.fall = 0

    def edge(self, noisy):
        self.rise = self.fall = 0
        if self.second == self.clean:
            self.count = 0
        else:
            self.count += 1
            if self.count == STABLE:
                self.clean, self.count = self.second, 0
                self.rise, self.fall = self.clean, 1 - self.clean
        self.first, self.second = noisy, self.first

    def outputs(self):
        return self.clean, self.rise, self.fall


def check(dut, expected, when):
    got = []
    for signal in (dut.clean_out, dut.rise_pulse, dut.fall_pulse):
        assert len(signal) == 1, f"{signal._name}: expected 1 bit, got {len(signal)}"
        assert signal.value.is_resolvable, f"{signal._name} is unknown {when}"
        got.append(int(signal.value))
    assert tuple(got) == expected, f"(clean_out, rise_pulse, fall_pulse): expected {expected}, got {tuple(got)} {when}"


async def start(dut):
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    dut.noisy_in.value = 1
    dut.rst_n.value = 0
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    check(dut, (0, 0, 0), "in reset")
    dut.noisy_in.value = 0
    dut.rst_n.value = 1
    return Model()


async def hold(dut, model, level, cycles):
    dut.noisy_in.value = level
    for k in range(cycles):
        await FallingEdge(dut.clk)
        model.edge(level)
        check(dut, model.outputs(), f"in cycle {k} of level {level}")


@cocotb.test()
async def clean_steps_have_the_specified_latency(dut):
    model = await start(dut)
    await hold(dut, model, 0, 4)
    for level in (1, 0, 1):
        await hold(dut, model, level, 1 + STABLE)
        assert int(dut.clean_out.value) == 1 - level, f"clean_out: expected {1 - level} still, got {level}"
        await hold(dut, model, level, 1)
        assert int(dut.clean_out.value) == level, f"clean_out: expected {level} now, got {1 - level}"
        await hold(dut, model, level, STABLE + 3)


@cocotb.test()
async def short_levels_never_show(dut):
    model = await start(dut)
    for length in range(1, STABLE):
        await hold(dut, model, 1, length)
        await hold(dut, model, 0, 1)
        await hold(dut, model, 1, length)
        await hold(dut, model, 0, STABLE + 3)
        assert model.clean == 0
    await hold(dut, model, 1, STABLE)
    await hold(dut, model, 0, 2)
    assert model.clean == 1, "a level of STABLE_CYCLES edges shows"
    await hold(dut, model, 0, STABLE + 3)


@cocotb.test()
async def reset_is_asynchronous(dut):
    model = await start(dut)
    await hold(dut, model, 1, STABLE + 2)
    check(dut, (1, 1, 0), "before reset")
    dut.rst_n.value = 0
    await Timer(2, unit="ns")
    check(dut, (0, 0, 0), "at once after rst_n fell")
    for _ in range(STABLE + 3):
        await FallingEdge(dut.clk)
        check(dut, (0, 0, 0), "held in reset with the input high")
    dut.rst_n.value = 1
    await hold(dut, Model(), 1, STABLE + 4)


@cocotb.test()
async def reset_forgets_a_count_under_way(dut):
    model = await start(dut)
    await hold(dut, model, 1, STABLE)
    dut.rst_n.value = 0
    await Timer(1, unit="ns")
    dut.rst_n.value = 1
    await hold(dut, Model(), 1, STABLE + 3)


@cocotb.test()
async def random_bouncing(dut):
    model = await start(dut)
    level = 0
    for _ in range(40):
        level ^= 1
        for _ in range(random.randint(0, 4)):
            await hold(dut, model, random.getrandbits(1), random.randint(1, 3))
        await hold(dut, model, level, random.choice([STABLE - 1, STABLE, STABLE + 1, random.randint(1, 2 * STABLE)]))
