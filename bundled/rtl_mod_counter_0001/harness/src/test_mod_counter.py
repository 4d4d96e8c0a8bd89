import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

WIDTH = int(os.environ["WIDTH"])
MODULO = int(os.environ["MODULO"])
LAST = MODULO - 1


def next_count(count, en, up, load, load_value):
    if load:
        return min(load_value, LAST)
    if not en:
        return count
    return (count + (1 if up else -1)) % MODULO


def terminal(count, en, up, load):
    return int(bool(en and not load and count == (LAST if up else 0)))


def read(signal):
    assert signal.value.is_resolvable, f"{signal._name} has unknown bits: {signal.value.binstr}"
    return signal.value.integer


def drive(dut, en=0, up=1, load=0, load_value=0):
    dut.en.value = en
    dut.up.value = up
    dut.load.value = load
    dut.load_value.value = load_value


async def start(dut):
    """Clock running, reset released, just after a falling edge."""
    cocotb.start_soon(Clock(dut.clk, 10, units="ns").start())
    drive(dut)
    dut.rst_n.value = 0
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst_n.value = 1


async def step(dut, count, **inputs):
    """One cycle: check tc before the edge and count after it; returns the expected count."""
    values = {"en": 0, "up": 1, "load": 0, "load_value": 0, **inputs}
    drive(dut, **values)
    await Timer(2, units="ns")
    expected_tc = terminal(count, values["en"], values["up"], values["load"])
    got_tc = read(dut.tc)
    assert got_tc == expected_tc, f"tc: expected {expected_tc}, got {got_tc} with count {count}, inputs {values}"
    await FallingEdge(dut.clk)
    expected = next_count(count, **values)
    got = read(dut.count)
    assert got == expected, f"count: expected {expected}, got {got} after {count}, inputs {values}"
    return expected


@cocotb.test()
async def counts_up_and_wraps(dut):
    assert len(dut.count) == WIDTH, f"count: expected {WIDTH} bits, got {len(dut.count)}"
    assert len(dut.load_value) == WIDTH, f"load_value: expected {WIDTH} bits, got {len(dut.load_value)}"
    assert len(dut.tc) == 1, f"tc: expected 1 bit, got {len(dut.tc)}"
    await start(dut)
    count = 0
    for _ in range(2 * MODULO + 1):
        count = await step(dut, count, en=1, up=1)


@cocotb.test()
async def counts_down_and_wraps(dut):
    await start(dut)
    count = 0
    for _ in range(2 * MODULO + 1):
        count = await step(dut, count, en=1, up=0)


@cocotb.test()
async def loads_every_value(dut):
    await start(dut)
    count = 0
    for value in range(2**WIDTH):
        count = await step(dut, count, load=1, load_value=value, en=value & 1, up=random.getrandbits(1))
        count = await step(dut, count, en=0, load_value=random.getrandbits(WIDTH))


@cocotb.test()
async def terminal_count_follows_the_inputs_within_the_cycle(dut):
    await start(dut)
    for target in (0, LAST, 1):
        await step(dut, read(dut.count), load=1, load_value=target)
        for choice in range(8):
            en, up, load = choice & 1, (choice >> 1) & 1, (choice >> 2) & 1
            # Settles and is taken back before the rising edge, so the count does not move.
            drive(dut, en=en, up=up, load=load, load_value=target)
            await Timer(1, units="ns")
            expected, got = terminal(target, en, up, load), read(dut.tc)
            assert got == expected, f"tc: expected {expected}, got {got} at count {target}, en={en} up={up} load={load}"
            drive(dut)
            await FallingEdge(dut.clk)
            assert read(dut.count) == target, f"count: expected {target} held, got {read(dut.count)}"


@cocotb.test()
async def reset_is_asynchronous_and_active_low(dut):
    await start(dut)
    count = await step(dut, 0, load=1, load_value=LAST)
    count = await step(dut, count, en=1, up=0)
    assert count != 0
    drive(dut)
    dut.rst_n.value = 0
    await Timer(1, units="ns")
    assert read(dut.count) == 0, f"count: expected 0 at once under reset, got {read(dut.count)}"
    drive(dut, en=1, up=0)
    await Timer(1, units="ns")
    assert read(dut.tc) == 1, f"tc: expected 1 (count 0, counting down, in reset), got {read(dut.tc)}"
    drive(dut, load=1, load_value=1, en=1)
    for _ in range(2):
        await FallingEdge(dut.clk)
        assert read(dut.count) == 0, f"count: expected 0 held by reset, got {read(dut.count)}"
    dut.rst_n.value = 1
    drive(dut)
    await Timer(1, units="ns")
    assert read(dut.count) == 0, f"count: expected 0 after release, got {read(dut.count)}"
    await step(dut, 0, en=1, up=1)


@cocotb.test()
async def random_operation(dut):
    await start(dut)
    count = 0
    for _ in range(250):
        count = await step(
            dut,
            count,
            en=int(random.random() < 0.8),
            up=random.getrandbits(1),
            load=int(random.random() < 0.15),
            load_value=random.choice([random.getrandbits(WIDTH), LAST, 0, min(MODULO, 2**WIDTH - 1)]),
        )
