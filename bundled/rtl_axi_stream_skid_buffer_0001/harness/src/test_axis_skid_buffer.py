import os
import random
from collections import deque
from itertools import product

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

DATA_W = int(os.environ["DATA_W"])
KEEP_W = DATA_W // 8
KEEP_ALL = (1 << KEEP_W) - 1


class Model:
    """What is stored, and the ready register; one call of edge() per rising edge."""

    def __init__(self):
        self.stored = deque()
        self.ready = 0

    def edge(self, beat, valid, m_ready, flush=0, aresetn=1):
        """Returns whether the input beat was taken."""
        taken = bool(valid and self.ready)
        if self.stored and m_ready:
            self.stored.popleft()
        if taken and (beat[1] or beat[2]):
            self.stored.append(beat)
        if flush or not aresetn:
            self.stored.clear()
        self.ready = int(bool(aresetn) and len(self.stored) < 2)
        return taken


def read(signal, when):
    assert signal.value.is_resolvable, f"{signal._name} has unknown bits: {signal.value} {when}"
    return int(signal.value)


def check(dut, model, when):
    expected = (model.ready, int(bool(model.stored)), len(model.stored))
    got = tuple(read(s, when) for s in (dut.s_axis_tready, dut.m_axis_tvalid, dut.level))
    assert got == expected, f"(s_axis_tready, m_axis_tvalid, level): expected {expected}, got {got} {when}"
    if model.stored:
        beat = tuple(read(s, when) for s in (dut.m_axis_tdata, dut.m_axis_tkeep, dut.m_axis_tlast))
        assert beat == model.stored[0], f"(tdata, tkeep, tlast): expected {model.stored[0]}, got {beat} {when}"


def drive(dut, beat, valid, m_ready, flush=0):
    dut.s_axis_tdata.value, dut.s_axis_tkeep.value, dut.s_axis_tlast.value = beat
    dut.s_axis_tvalid.value = valid
    dut.m_axis_tready.value = m_ready
    dut.flush.value = flush


def new_beat(null=0.0):
    if random.random() < null:
        return random.getrandbits(DATA_W), 0, random.getrandbits(1)
    return random.getrandbits(DATA_W), random.randint(1, KEEP_ALL), random.getrandbits(1)


async def start(dut):
    widths = {"tdata": DATA_W, "tkeep": KEEP_W, "tlast": 1, "tvalid": 1, "tready": 1}
    for name, width in widths.items():
        for side in ("s", "m"):
            port = getattr(dut, f"{side}_axis_{name}")
            assert len(port) == width, f"{port._name}: expected {width} bits, got {len(port)}"
    assert len(dut.level) == 2, f"level: expected 2 bits, got {len(dut.level)}"
    cocotb.start_soon(Clock(dut.aclk, 10, unit="ns").start())
    dut.aresetn.value = 0
    drive(dut, new_beat(), 1, 0, flush=1)
    model = Model()
    await FallingEdge(dut.aclk)
    for _ in range(2):
        await FallingEdge(dut.aclk)
        check(dut, model, "in reset")
    dut.aresetn.value = 1
    drive(dut, new_beat(), 0, 0)
    await Timer(2, unit="ns")
    check(dut, model, "with aresetn high, before the edge")
    await FallingEdge(dut.aclk)
    model.edge(None, 0, 0)
    check(dut, model, "after the first edge out of reset")
    return model


async def cycle(dut, model, beat, valid, m_ready, flush=0):
    drive(dut, beat, valid, m_ready, flush)
    await FallingEdge(dut.aclk)
    taken = model.edge(beat, valid, m_ready, flush)
    check(dut, model, f"after valid={valid} beat={beat} m_ready={m_ready} flush={flush}")
    return taken


async def traffic(dut, model, cycles, p_valid, p_ready, null=0.0, p_flush=0.0):
    """A sender that keeps its offer until it is taken, and a receiver with a mind of its own."""
    beat, offered, sent = new_beat(null), 0, 0
    for _ in range(cycles):
        offered = offered or int(random.random() < p_valid)
        taken = await cycle(
            dut, model, beat, offered, int(random.random() < p_ready), int(random.random() < p_flush)
        )
        if taken:
            beat, offered, sent = new_beat(null), 0, sent + 1
    return sent


@cocotb.test()
async def full_speed_without_bubbles(dut):
    model = await start(dut)
    sent = await traffic(dut, model, 50, 1.0, 1.0)
    assert sent == 50, f"beats taken in 50 cycles: expected 50, got {sent}"


@cocotb.test()
async def example_of_the_specification(dut):
    model = await start(dut)
    a, b, c, d = ((k + 1, 1, k == 3) for k in range(4))
    for beat, valid, ready in ((a, 1, 1), (b, 1, 0), (c, 1, 0), (c, 1, 1), (c, 1, 1), (d, 1, 1), (d, 0, 1)):
        await cycle(dut, model, beat, valid, ready)


@cocotb.test()
async def fills_to_two_and_drains(dut):
    model = await start(dut)
    for rounds in range(3):
        for _ in range(4 + rounds):
            await cycle(dut, model, new_beat(), 1, 0)
        assert len(model.stored) == 2
        for _ in range(3):
            await cycle(dut, model, new_beat(), 0, 1)
    # One beat stored, both sides move at once, then a stall of a single cycle again and again.
    for k in range(30):
        await cycle(dut, model, new_beat(), 1, k % 2)
    for k in range(30):
        await cycle(dut, model, new_beat(), 1, int(k % 3 != 0))


@cocotb.test()
async def no_combinational_path(dut):
    model = await start(dut)
    choices = list(product((0, 1), repeat=3))
    for stored in range(3):
        for k in range(0, len(choices), 2):
            # Two changes and a return to rest, all before the rising edge, which then finds nothing to do.
            for valid, m_ready, flush in (*choices[k : k + 2], (0, 0, 0)):
                drive(dut, new_beat(), valid, m_ready, flush)
                await Timer(1, unit="ns")
                check(dut, model, f"in mid-cycle with {stored} stored, valid={valid} m_ready={m_ready} flush={flush}")
            await cycle(dut, model, new_beat(), 0, 0)
        await cycle(dut, model, new_beat(), 1, 0)


@cocotb.test()
async def null_beats_vanish(dut):
    model = await start(dut)
    null, end = (5, 0, 0), (6, 0, 1)
    for m_ready in (1, 0):
        for beat in (null, null, (7, 1, 0), null, end, null, null):
            await cycle(dut, model, beat, 1, m_ready)
    for _ in range(3):
        await cycle(dut, model, null, 1, 1)
    await traffic(dut, model, 120, 0.9, 0.6, null=0.5)


@cocotb.test()
async def flush_empties_the_buffer(dut):
    model = await start(dut)
    for fill, m_ready, valid in product(range(3), (0, 1), (0, 1)):
        for _ in range(fill):
            await cycle(dut, model, new_beat(), 1, 0)
        await cycle(dut, model, new_beat(), valid, m_ready, flush=1)
        await cycle(dut, model, new_beat(), 0, 1)
    await cycle(dut, model, new_beat(), 1, 0)
    await traffic(dut, model, 150, 0.9, 0.5, p_flush=0.1)


@cocotb.test()
async def reset_is_synchronous(dut):
    model = await start(dut)
    for _ in range(3):
        await cycle(dut, model, new_beat(), 1, 0)
    drive(dut, new_beat(), 0, 0)
    dut.aresetn.value = 0
    await Timer(2, unit="ns")
    check(dut, model, "with aresetn low before the edge")
    dut.aresetn.value = 1
    await cycle(dut, model, new_beat(), 0, 0)
    dut.aresetn.value = 0
    for flush in (0, 1):
        drive(dut, new_beat(), 1, 0, flush)
        await FallingEdge(dut.aclk)
        model.edge(new_beat(), 1, 0, flush, aresetn=0)
        check(dut, model, "after an edge with aresetn low")
    dut.aresetn.value = 1
    await Timer(2, unit="ns")
    check(dut, model, "with aresetn high again, before the edge")
    await cycle(dut, model, new_beat(), 1, 1)
    await traffic(dut, model, 20, 1.0, 0.5)


@cocotb.test()
async def random_traffic(dut):
    model = await start(dut)
    for p_valid, p_ready in ((0.5, 0.5), (0.9, 0.3), (0.3, 0.9), (1.0, 0.7)):
        await traffic(dut, model, 60, p_valid, p_ready, null=0.1, p_flush=0.02)
