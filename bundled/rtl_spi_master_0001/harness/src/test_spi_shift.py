import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

WIDTH = int(os.environ["WIDTH"])
MASK = (1 << WIDTH) - 1


class Model:
    def __init__(self):
        self.tx = self.rx = 0

    def edge(self, load, tx_word, shift, sample, miso):
        if load:
            self.tx, self.rx = tx_word, 0
            return
        if shift:
            self.tx = self.tx << 1 & MASK
        if sample:
            self.rx = (self.rx << 1 | miso) & MASK


def check(dut, model, when):
    for signal, expected in ((dut.mosi, model.tx >> (WIDTH - 1)), (dut.rx_word, model.rx)):
        assert signal.value.is_resolvable, f"{signal._name} has unknown bits: {signal.value} {when}"
        got = int(signal.value)
        assert got == expected, f"{signal._name}: expected {expected:#x}, got {got:#x} {when}"


async def start(dut):
    for name, width in {"tx_word": WIDTH, "rx_word": WIDTH, "mosi": 1}.items():
        assert len(getattr(dut, name)) == width, f"{name}: expected {width} bits, got {len(getattr(dut, name))}"
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    dut.rst_n.value = 0
    dut.load.value = 1
    dut.tx_word.value = MASK
    dut.shift.value = 0
    dut.sample.value = 1
    dut.miso.value = 1
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    model = Model()
    check(dut, model, "in reset")
    dut.rst_n.value = 1
    return model


async def step(dut, model, load=0, tx_word=0, shift=0, sample=0, miso=0):
    dut.load.value = load
    dut.tx_word.value = tx_word
    dut.shift.value = shift
    dut.sample.value = sample
    dut.miso.value = miso
    await FallingEdge(dut.clk)
    model.edge(load, tx_word, shift, sample, miso)
    check(dut, model, f"after load={load} tx_word={tx_word:#x} shift={shift} sample={sample} miso={miso}")


@cocotb.test()
async def sends_top_bit_first_and_fills_with_zeros(dut):
    model = await start(dut)
    await step(dut, model, load=1, tx_word=MASK ^ 0b10)
    for _ in range(WIDTH + 2):
        await step(dut, model, tx_word=MASK)
        await step(dut, model, shift=1, miso=1)


@cocotb.test()
async def receives_top_bit_first(dut):
    model = await start(dut)
    for _ in range(2 * WIDTH):
        await step(dut, model, sample=1, miso=random.getrandbits(1))
        await step(dut, model, miso=1)


@cocotb.test()
async def load_goes_before_shift_and_sample(dut):
    model = await start(dut)
    for _ in range(4):
        await step(dut, model, sample=1, miso=1)
        await step(dut, model, load=1, tx_word=random.getrandbits(WIDTH), shift=1, sample=1, miso=1)
        for _ in range(WIDTH):
            await step(dut, model, shift=1)


@cocotb.test()
async def reset_is_asynchronous(dut):
    model = await start(dut)
    await step(dut, model, load=1, tx_word=MASK)
    await step(dut, model, sample=1, miso=1)
    dut.rst_n.value = 0
    await Timer(2, unit="ns")
    check(dut, Model(), "at once after rst_n fell")


@cocotb.test()
async def random_operation(dut):
    model = await start(dut)
    for _ in range(200):
        await step(
            dut,
            model,
            load=int(random.random() < 0.1),
            tx_word=random.getrandbits(WIDTH),
            shift=random.getrandbits(1),
            sample=random.getrandbits(1),
            miso=random.getrandbits(1),
        )
