import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

WIDTH = int(os.environ["WIDTH"])
TOP = WIDTH - 1
OUTPUTS = ("rx_data", "busy", "done", "sclk", "cs_n", "mosi")


class Model:
    """The specification, advanced once per rising edge of clk."""

    def __init__(self):
        self.busy = self.done = self.sclk = self.rx_data = self.tx = self.rx = 0
        self.cs_n = 1

    def edge(self, start, cpol, cpha, half_div, tx_data, miso):
        self.done = 0
        if not self.busy:
            self.sclk = cpol
            if start:
                self.busy, self.cs_n, self.cpha, self.half = 1, 0, cpha, half_div + 1
                self.tx, self.rx, self.cycles = tx_data, 0, 0
            return
        self.cycles += 1
        tick, rest = divmod(self.cycles, self.half)
        if rest:
            return
        if tick == 2 * WIDTH + 1:
            self.busy, self.cs_n, self.done, self.rx_data = 0, 1, 1, self.rx
            return
        self.sclk ^= 1
        leading = tick % 2
        if leading != self.cpha:
            self.rx = self.rx << 1 | miso
        elif tick != (1 if self.cpha else 2 * WIDTH):
            self.tx = self.tx << 1

    def outputs(self):
        return (self.rx_data, self.busy, self.done, self.sclk, self.cs_n, self.tx >> TOP & 1)


class Slave:
    """An SPI device that only sees the four wires; it returns a word and keeps what it was sent."""

    def __init__(self, cpol, cpha, word):
        self.cpol, self.cpha, self.word = cpol, cpha, word
        self.sclk, self.sent, self.received = cpol, 0, []
        self.miso = word >> TOP & 1 if not cpha else random.getrandbits(1)

    def wires(self, sclk, cs_n, mosi):
        if cs_n or sclk == self.sclk:
            return
        self.sclk = sclk
        leading = sclk != self.cpol
        if leading != bool(self.cpha):
            self.received.append(mosi)
        else:
            self.sent += not self.cpha
            bit = TOP - self.sent
            self.miso = self.word >> bit & 1 if bit >= 0 else random.getrandbits(1)
            self.sent += self.cpha


def check(dut, model, when):
    got = []
    for name in OUTPUTS:
        value = getattr(dut, name).value
        assert value.is_resolvable, f"{name} has unknown bits: {value} {when}"
        got.append(int(value))
    expected = model.outputs()
    assert tuple(got) == expected, f"{OUTPUTS}: expected {expected}, got {tuple(got)} {when}"


def inputs(start=0, cpol=0, cpha=0, half_div=0, tx_data=0, miso=0):
    return {"start": start, "cpol": cpol, "cpha": cpha, "half_div": half_div, "tx_data": tx_data, "miso": miso}


async def cycle(dut, model, values, when):
    for name, value in values.items():
        getattr(dut, name).value = value
    await FallingEdge(dut.clk)
    model.edge(**values)
    check(dut, model, when)


async def start(dut):
    for name, width in {"tx_data": WIDTH, "rx_data": WIDTH, "half_div": 8, "mosi": 1, "busy": 1, "done": 1}.items():
        assert len(getattr(dut, name)) == width, f"{name}: expected {width} bits, got {len(getattr(dut, name))}"
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    for name, value in inputs(start=1, cpol=1, tx_data=(1 << WIDTH) - 1).items():
        getattr(dut, name).value = value
    dut.rst_n.value = 0
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    model = Model()
    check(dut, model, "in reset")
    dut.rst_n.value = 1
    return model


async def transfer(dut, model, cpol, cpha, half_div, restless=False, rest=2):
    """One transfer, checked in every cycle against the model and as a whole against a device."""
    tx, word = random.getrandbits(WIDTH), random.getrandbits(WIDTH)
    device = Slave(cpol, cpha, word)
    mode = f"cpol={cpol} cpha={cpha} half_div={half_div}"
    begin = inputs(1, cpol, cpha, half_div, tx, device.miso)
    await cycle(dut, model, begin, f"at the start, {mode}")
    length = (2 * WIDTH + 1) * (half_div + 1)
    for k in range(length):
        if restless:
            values = inputs(*(random.getrandbits(1) for _ in range(3)), random.getrandbits(8), random.getrandbits(WIDTH))
        else:
            values = inputs(0, cpol, cpha, half_div, tx)
        if k == length - 1:
            values["start"] = 0
        values["miso"] = device.miso
        await cycle(dut, model, values, f"in cycle {k + 1} of {length}, {mode}")
        device.wires(int(dut.sclk.value), int(dut.cs_n.value), int(dut.mosi.value))
    sent = [tx >> bit & 1 for bit in reversed(range(WIDTH))]
    assert device.received == sent, f"bits at the device: expected {sent}, got {device.received}, {mode}"
    assert int(dut.done.value) == 1, f"done: expected 1 after {length} cycles, got {dut.done.value}, {mode}"
    assert int(dut.rx_data.value) == word, f"rx_data: expected {word:#x}, got {int(dut.rx_data.value):#x}, {mode}"
    for _ in range(rest):
        await cycle(dut, model, inputs(0, cpol, cpha, 0, random.getrandbits(WIDTH), random.getrandbits(1)), f"at rest, {mode}")


@cocotb.test()
async def given_parts_are_used(dut):
    await start(dut)
    for instance, module in (("u_clkgen", "spi_clkgen"), ("u_shift", "spi_shift")):
        handle = getattr(dut, instance, None)
        assert handle is not None, f"spi_master has no instance {instance}"
        assert handle._def_name == module, f"{instance}: expected an instance of {module}, got {handle._def_name}"
    model = Model()
    model.edge(**inputs(start=0))
    await cycle(dut, model, inputs(), "at rest")
    await cycle(dut, model, inputs(1, 0, 0, 2, 1), "at the start")
    for k in range(9):
        # The generator really runs the transfer: its tick is high once per half period.
        await cycle(dut, model, inputs(), f"in cycle {k + 1}")
        assert int(dut.u_clkgen.tick.value) == int(k % 3 == 1), f"u_clkgen.tick in cycle {k + 1}: got {dut.u_clkgen.tick.value}"


@cocotb.test()
async def all_four_modes(dut):
    model = await start(dut)
    await cycle(dut, model, inputs(), "at rest")
    for mode in range(4):
        await cycle(dut, model, inputs(cpol=mode >> 1), "at rest with the new polarity")
        for half_div in (0, 2):
            await transfer(dut, model, mode >> 1, mode & 1, half_div)


@cocotb.test()
async def resting_clock_follows_polarity(dut):
    model = await start(dut)
    for cpol in (0, 1, 1, 0, 1):
        await cycle(dut, model, inputs(cpol=cpol, miso=1), f"at rest, cpol={cpol}")
    # Polarity that changes together with start is taken at that edge.
    for cpol in (0, 1):
        await transfer(dut, model, cpol, cpol, 0, rest=0)


@cocotb.test()
async def inputs_are_ignored_during_a_transfer(dut):
    model = await start(dut)
    await cycle(dut, model, inputs(), "at rest")
    for mode in range(4):
        await transfer(dut, model, mode >> 1, mode & 1, random.randint(0, 3), restless=True)


@cocotb.test()
async def transfers_back_to_back(dut):
    model = await start(dut)
    await cycle(dut, model, inputs(), "at rest")
    for _ in range(6):
        await transfer(dut, model, random.getrandbits(1), random.getrandbits(1), random.randint(0, 2), rest=0)


@cocotb.test()
async def long_half_period(dut):
    model = await start(dut)
    await cycle(dut, model, inputs(cpol=1), "at rest")
    await cycle(dut, model, inputs(1, 1, 1, 255, 1), "at the start")
    for k in range(256 + 2):
        await cycle(dut, model, inputs(cpol=1), f"in cycle {k + 1}")


@cocotb.test()
async def reset_is_asynchronous(dut):
    model = await start(dut)
    await cycle(dut, model, inputs(), "at rest")
    await transfer(dut, model, 1, 0, 0)
    await cycle(dut, model, inputs(1, 1, 1, 1, (1 << WIDTH) - 1), "at the start")
    for k in range(7):
        await cycle(dut, model, inputs(miso=1), f"in cycle {k + 1}")
    dut.rst_n.value = 0
    await Timer(2, unit="ns")
    check(dut, Model(), "at once after rst_n fell")
    dut.start.value = 1
    await FallingEdge(dut.clk)
    check(dut, Model(), "held in reset")
    dut.rst_n.value = 1
    model = Model()
    await cycle(dut, model, inputs(), "after reset")
    await transfer(dut, model, 0, 1, 1)
