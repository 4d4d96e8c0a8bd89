"""Which of the mutants are no mistakes: simulated beside the right design on stimuli of our own, or proved by Yosys."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from rtl_agent.audit import stimulus
from rtl_agent.audit.trees import INSIDE, Design, Files, Module
from rtl_agent.problems import CocotbVersion
from rtl_agent.sandbox import MIB, BoxSpec, Limits, Sandbox
from rtl_agent.toolchain import Toolchain

_PROGRAM = INSIDE / "compare.py"
_AT_A_TIME = 12  # designs in one box
SHORT, LONG = 40, 220  # cycles of a phase
SIMULATION_SECONDS, PROOF_SECONDS = 6.0, 45.0  # of CPU
_COCOTB = CocotbVersion.V2
_SIZED = re.compile(r"\d+'s?([bodh])([0-9a-f_]+)")


class Compared(StrEnum):
    DIFFERS = "differs"  # an output, where the right design's is 0 or 1
    SAME = "same"  # on all stimuli
    HANGS = "hangs"
    BROKEN = "broken"  # it does not compile, or ends the simulation
    PROVED = "proved"
    UNKNOWN = "unknown"


# Where the right design stands a bench, a design that does not compile or rest beside it does something else.
UNLIKE = (Compared.DIFFERS, Compared.HANGS, Compared.BROKEN)


class Comparison:
    """Of designs with a right one, whose tops were read by slang. `parameters` are those that the harness sets."""

    def __init__(
        self,
        sandbox: Sandbox,
        toolchain: Toolchain,
        design: Design,
        modules: Sequence[Module],
        parameters: Sequence[str],
        seed: str,
    ) -> None:
        self._sandbox, self._toolchain, self._right, self._seed = sandbox, toolchain, design, seed
        self._parameters = parameters
        self._tops = [module for module in modules if module.is_top]
        self._sets = {module.name: parameter_sets(module, parameters) for module in self._tops}
        self._turns = asyncio.Semaphore(1)

    @property
    def can_simulate(self) -> bool:
        return bool(self._tops) and all(map(stimulus.testable, self._tops))

    async def simulate(self, designs: Sequence[Files], *, cycles: int) -> list[Compared]:
        """Each beside the right one, at every set of parameters that the right one stands."""
        if not self.can_simulate:
            return [Compared.UNKNOWN] * len(designs)
        benches = [
            stimulus.bench(top, sets, f"{self._seed} {cycles} {number}", cycles=cycles)
            for top in self._tops
            for number, sets in enumerate(self._sets[top.name])
        ]
        job = {"what": "simulate", "benches": benches, "seconds": SIMULATION_SECONDS}
        return await self._ask(job, designs)

    async def prove(self, designs: Sequence[Files]) -> list[Compared]:
        """Equal by Yosys at every set of parameters, or not known to be."""
        if not self._tops or not all(can_vary(top, self._parameters) for top in self._tops):
            return [Compared.UNKNOWN] * len(designs)
        tops = [[top.name, sets, stimulus.watch(top)] for top in self._tops for sets in self._sets[top.name]]
        return await self._ask({"what": "prove", "tops": tops, "seconds": PROOF_SECONDS}, designs)

    async def _ask(self, job: Mapping[str, Any], designs: Sequence[Files]) -> list[Compared]:
        found: list[Compared] = []
        for at in range(0, len(designs), _AT_A_TIME):
            found += await self._in_box(job, designs[at : at + _AT_A_TIME])
        return found

    async def _in_box(self, job: Mapping[str, Any], designs: Sequence[Files]) -> list[Compared]:
        around = self._right.around
        whole = {
            **job,
            "right": {**around, **self._right.files},
            "designs": [{**around, **files} for files in designs],
        }
        spec = BoxSpec(
            self._toolchain.mounts(_COCOTB), links=self._toolchain.links(), disk_bytes=512 * MIB, processes=64
        )
        env = {**self._toolchain.env(_COCOTB), "HOME": "/code", "LANG": "C.UTF-8"}
        limits = Limits(wall_seconds=7200, cpu_seconds=900, file_bytes=64 * MIB)
        python = self._toolchain.harness(_COCOTB).executable
        async with self._turns, self._sandbox.open(spec) as box:
            await box.write("/code/compare.py", _PROGRAM.read_bytes())
            argv = [python, "-I", "/code/compare.py"]
            done = await box.run(argv, env=env, cwd="/code", stdin=json.dumps(whole).encode(), limits=limits)
        try:
            told = [Compared(one) for one in json.loads(done.stdout)]
        except (ValueError, TypeError):
            told = []
        return told if len(told) == len(designs) else [Compared.UNKNOWN] * len(designs)


def parameter_sets(module: Module, set_by_harness: Sequence[str]) -> list[dict[str, str]]:
    """The defaults; and where the harness sets a parameter that is a number, some others, one parameter at a time."""
    found: list[dict[str, str]] = [{}]
    for name, value in module.parameters.items():
        number = _number(value) if name in set_by_harness else None
        if number is not None:
            others = dict.fromkeys((number + 1, max(1, number // 2), min(2 * number, number + 64)))
            found += [{name: str(other)} for other in others if other != number]
    return found[:12]


def can_vary(module: Module, set_by_harness: Sequence[str]) -> bool:
    """Whether what is equal at every set of parameters can be called equal to the harness."""
    return all(_number(module.parameters[name]) is not None for name in set_by_harness if name in module.parameters)


def _number(value: str) -> int | None:
    """12, or 16'hffff as slang writes the value of a sized parameter."""
    sized = _SIZED.fullmatch(value)
    if sized is not None:
        return int(sized[2].replace("_", ""), {"b": 2, "o": 8, "d": 10, "h": 16}[sized[1]])
    return int(value) if value.isdecimal() else None
