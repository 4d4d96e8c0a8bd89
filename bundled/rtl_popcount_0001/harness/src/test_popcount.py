import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

ALL = 0xFFFFFFFF


def check(dut, expected, when):
    got = []
    for signal, width in ((dut.out_valid, 1), (dut.count, 6), (dut.majority, 1)):
        assert len(signal) == width, f"{signal._name}: expected {width} bits, got {len(signal)}"
        assert signal.value.is_resolvable, f"{signal._name} has unknown bits: {signal.value} {when}"
        got.append(int(signal.value))
    assert tuple(got) == expected, f"(out_valid, count, majority): expected {expected}, got {tuple(got)} {when}"


def outputs(data):
    ones = bin(data).count("1")
    return 1, ones, int(ones > 16)


async def start(dut):
    assert len(dut.data) == 32, f"data: expected 32 bits, got {len(dut.data)}"
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    dut.rst_n.value = 0
    dut.in_valid.value = 1
    dut.data.value = ALL
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    check(dut, (0, 0, 0), "in reset")
    dut.rst_n.value = 1


async def send(dut, data):
    dut.in_valid.value = 1
    dut.data.value = data
    await FallingEdge(dut.clk)
    check(dut, outputs(data), f"after data={data:#010x}")


@cocotb.test()
async def single_bits_and_runs(dut):
    await start(dut)
    for i in range(32):
        await send(dut, 1 << i)
        await send(dut, ALL ^ (1 << i))
        await send(dut, (1 << i) - 1)
        await send(dut, ALL << i & ALL)
    await send(dut, ALL)
    await send(dut, 0)


@cocotb.test()
async def majority_begins_at_seventeen(dut):
    await start(dut)
    for ones in (15, 16, 17, 18):
        for _ in range(8):
            await send(dut, sum(1 << i for i in random.sample(range(32), ones)))


@cocotb.test()
async def result_is_kept_without_valid(dut):
    await start(dut)
    for data in (0x0000FFFF, 0x8000FFFF, ALL, 1):
        await send(dut, data)
        dut.in_valid.value = 0
        for other in (ALL ^ data, 0, ALL):
            dut.data.value = other
            await FallingEdge(dut.clk)
            check(dut, (0, *outputs(data)[1:]), f"kept from data={data:#010x}")


@cocotb.test()
async def reset_is_synchronous(dut):
    await start(dut)
    await send(dut, 0x00FFFFFF)
    dut.rst_n.value = 0
    await Timer(2, unit="ns")
    check(dut, outputs(0x00FFFFFF), "with rst_n low before the edge")
    dut.rst_n.value = 1
    await send(dut, 0x7)
    dut.rst_n.value = 0
    dut.data.value = ALL
    await FallingEdge(dut.clk)
    check(dut, (0, 0, 0), "after an edge with rst_n low")
    dut.rst_n.value = 1
    dut.in_valid.value = 0
    await FallingEdge(dut.clk)
    check(dut, (0, 0, 0), "after release")


@cocotb.test()
async def random_words(dut):
    await start(dut)
    last = (0, 0, 0)
    for _ in range(300):
        data = random.choice([random.getrandbits(32), random.getrandbits(32) | random.getrandbits(32)])
        valid = int(random.random() < 0.8)
        dut.in_valid.value = valid
        dut.data.value = data
        await FallingEdge(dut.clk)
        last = outputs(data) if valid else (0, *last[1:])
        check(dut, last, f"after in_valid={valid} data={data:#010x}")
