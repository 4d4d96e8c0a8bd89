"""What opening a box costs in a process that has much memory of its own, as a trainer has.

    python scripts/measure_box_start.py --megabytes 1300

Prints the CPU of this process and of what it starts, in ms for each box: the least of a few.
"""

import argparse
import asyncio
import resource

from rtl_agent.sandbox import BoxSpec, make_sandbox


async def costs(rounds: int) -> list[tuple[float, float]]:
    sandbox = make_sandbox(1)
    async with sandbox.open(BoxSpec()):
        pass  # what is done only once
    found = []
    for _ in range(rounds):
        before = used()
        async with sandbox.open(BoxSpec()):
            pass
        found.append((used()[0] - before[0], used()[1] - before[1]))
    return found


def used() -> tuple[float, float]:
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1300)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    memory = bytearray(options.megabytes * 1_000_000)
    memory[:: resource.getpagesize()] = b"\1" * len(memory[:: resource.getpagesize()])
    own, others = map(min, zip(*asyncio.run(costs(options.rounds)), strict=True))
    print(f"{options.megabytes} MB: {own * 1e3:.1f} ms here, {others * 1e3:.1f} ms in what is started")


if __name__ == "__main__":
    main()
