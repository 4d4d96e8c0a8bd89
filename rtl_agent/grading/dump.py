"""Waves of a service that is run once more: how its box is asked for them, and which simulation each file is of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rtl_agent.grading.channel import Message
from rtl_agent.sandbox import MIB, Box, Mount

FILE_BYTES = 32 * MIB  # of one simulation; below the box's limit of a file, which would end the simulator
_MODULE_INSIDE = "/opt/rtl-agent/dump"


@dataclass
class DumpedSimulation:
    """One simulation of a service, with the tests that it reported: name -> the message of the channel."""

    number: int
    item: str
    seed: int
    tests: dict[str, Message] = field(default_factory=dict)


Choose = Callable[[Sequence[DumpedSimulation]], Sequence[DumpedSimulation]]
Keep = Callable[[DumpedSimulation, bytes], None]


@dataclass(frozen=True)
class Dump:
    """`choose` says of which simulations the files are wanted, `keep` gets each as it is: no file of a box is trusted.

    Nothing is written before `from_ns`.
    """

    module: Path  # Toolchain.dump()
    keep: Keep
    choose: Choose = lambda simulations: simulations
    from_ns: float = 0.0
    place: str = "/waves"

    @property
    def mounts(self) -> tuple[Mount, ...]:
        return (Mount(self.module, _MODULE_INSIDE),)

    @property
    def env(self) -> Mapping[str, str]:
        return {
            "RTL_AGENT_DUMP": self.place,
            "RTL_AGENT_DUMP_MODULE": _MODULE_INSIDE,
            "RTL_AGENT_DUMP_BYTES": str(FILE_BYTES),
            "RTL_AGENT_DUMP_FROM": repr(self.from_ns),
        }

    async def collect(self, box: Box, messages: Sequence[Message]) -> None:
        """Called when every process of the box has ended; until then the directory is closed."""
        await box.run(["chmod", "700", self.place])
        for simulation in self.choose(simulations_of(messages)):
            try:
                data = await box.read(f"{self.place}/{simulation.number}.vcd", max_bytes=2 * FILE_BYTES)
            except (FileNotFoundError, ValueError):  # later than those that have files
                data = b""
            self.keep(simulation, data)


def simulations_of(messages: Sequence[Message]) -> list[DumpedSimulation]:
    found: dict[int, DumpedSimulation] = {}
    for message in messages:
        match message:
            case {"kind": "simulation", "sim": int(number), "item": item, "seed": int(seed)}:
                found[number] = DumpedSimulation(number, item or "", seed)
            case {"kind": "test", "sim": number, "name": name} if number in found:
                found[number].tests[str(name)] = message
    return list(found.values())
