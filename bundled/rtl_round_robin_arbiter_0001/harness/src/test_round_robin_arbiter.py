import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

N = int(os.environ["N"])
ALL = (1 << N) - 1


def search(req, ptr):
    """The requester that is offered the resource, or None."""
    for k in range(N):
        i = (ptr + k) % N
        if req >> i & 1:
            return i
    return None


def read(signal):
    assert signal.value.is_resolvable, f"{signal._name} has unknown bits: {signal.value}"
    return int(signal.value)


def check(dut, req, ptr, when=""):
    i = search(req, ptr)
    expected = (0, 0, 0) if i is None else (1 << i, 1, i)
    got = (read(dut.grant), read(dut.grant_valid), read(dut.grant_index))
    assert got == expected, (
        f"(grant, grant_valid, grant_index): expected {expected}, got {got} with req={req:0{N}b} ptr={ptr} {when}"
    )
    return i


async def start(dut):
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    dut.req.value = 0
    dut.ack.value = 0
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    return 0


async def cycle(dut, ptr, req, ack):
    """One cycle from falling edge to falling edge; returns the expected pointer."""
    dut.req.value = req
    dut.ack.value = ack
    await Timer(2, unit="ns")
    i = check(dut, req, ptr)
    await FallingEdge(dut.clk)
    if i is None:
        return ptr
    return (i + 1) % N if ack else i


@cocotb.test()
async def every_requester_alone(dut):
    index_width = max(1, (N - 1).bit_length())
    for port, width in ((dut.req, N), (dut.grant, N), (dut.grant_index, index_width), (dut.grant_valid, 1)):
        assert len(port) == width, f"{port._name}: expected {width} bits, got {len(port)}"
    ptr = await start(dut)
    for i in list(range(N)) + list(reversed(range(N))):
        ptr = await cycle(dut, ptr, 1 << i, 1)
        ptr = await cycle(dut, ptr, 0, 1)


@cocotb.test()
async def all_requesters_are_served_in_turn(dut):
    ptr = await start(dut)
    served = []
    for _ in range(3 * N):
        dut.req.value = ALL
        dut.ack.value = 1
        await Timer(2, unit="ns")
        served.append(check(dut, ALL, ptr))
        await FallingEdge(dut.clk)
        ptr = (served[-1] + 1) % N
    assert served == [k % N for k in range(3 * N)], f"order of service: {served}"


@cocotb.test()
async def offer_stays_until_taken(dut):
    ptr = await start(dut)
    for i in range(N):
        ptr = await cycle(dut, ptr, 1 << i, 0)
        for _ in range(3):
            ptr = await cycle(dut, ptr, ALL, 0)
            assert ptr == i
        ptr = await cycle(dut, ptr, ALL & ~(1 << i), 0)
        ptr = await cycle(dut, ptr, ALL, 1)


@cocotb.test()
async def outputs_follow_requests_within_the_cycle(dut):
    ptr = await start(dut)
    for _ in range(N):
        ptr = await cycle(dut, ptr, ALL, 1)
        for _ in range(3):
            req = random.randint(0, ALL)
            dut.req.value = req
            dut.ack.value = random.getrandbits(1)
            await Timer(1, unit="ns")
            check(dut, req, ptr, "in mid-cycle")
        # Nothing requested and ack high over the edge: the pointer stays.
        ptr = await cycle(dut, ptr, 0, 1)


@cocotb.test()
async def reset_is_synchronous(dut):
    ptr = await start(dut)
    ptr = await cycle(dut, ptr, 0b11, 1)
    ptr = await cycle(dut, ptr, 0b10, 0)
    assert ptr == 1
    dut.req.value = ALL
    dut.ack.value = 0
    dut.rst.value = 1
    await Timer(2, unit="ns")
    check(dut, ALL, 1, "with rst high before the edge")
    dut.rst.value = 0
    await FallingEdge(dut.clk)
    check(dut, ALL, 1, "after a reset pulse that met no rising edge")
    dut.rst.value = 1
    dut.ack.value = 1
    for _ in range(2):
        await FallingEdge(dut.clk)
        check(dut, ALL, 0, "after a rising edge with rst high")
    dut.rst.value = 0
    await FallingEdge(dut.clk)
    check(dut, ALL, 1, "after release of rst")


@cocotb.test()
async def random_traffic(dut):
    ptr = await start(dut)
    for _ in range(250):
        req = random.choice([random.randint(0, ALL), random.randint(0, ALL), 1 << random.randrange(N), ALL, 0])
        ptr = await cycle(dut, ptr, req, int(random.random() < 0.6))
