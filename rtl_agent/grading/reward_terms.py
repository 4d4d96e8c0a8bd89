"""Reward terms of one's own: a number beside format, interface, syntax and tests, weighed by name.

    @REWARD_TERMS.register("latches")
    async def latches(judged: JudgedSubmission) -> float:
        done = await judged.run(["yosys", "-p", "read_verilog -sv rtl/top.sv; proc"])
        return float(b"Latch inferred" in done.stdout)

    Grader(weights=parse_weights("staged,latches=-0.2"))

A term is asked once for each graded submission, where the grade is made (also on a cluster: a package brings it with an
entry point of the group `rtl_agent.reward_terms`), and its number is kept with the grade. The reward adds weight times
number; a weight below 0 makes it a penalty. What was not judged (`invalid`, `error`) earns nothing, whatever its terms.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from rtl_agent.grading.grade import Grade, Outcome
from rtl_agent.grading.submission import Submission
from rtl_agent.problems import Problem
from rtl_agent.registry import Registry
from rtl_agent.sandbox import BoxSpec, CommandResult, Limits, Sandbox, SandboxError
from rtl_agent.toolchain import Toolchain


@dataclass(frozen=True)
class JudgedSubmission:
    """What a term may look at: the problem, the files, the grade so far; and a box of its own to run tools in."""

    problem: Problem
    submission: Submission
    grade: Grade
    sandbox: Sandbox
    toolchain: Toolchain

    async def run(self, argv: Sequence[str], *, seconds: float = 60.0) -> CommandResult:
        """One command in a fresh box, in a directory with the design and the files that the problem gives, and without
        the harness. The tools are those that grade."""
        version = self.problem.harness.cocotb_version
        spec = BoxSpec(mounts=self.toolchain.mounts(version), links=self.toolchain.links(), image=self.toolchain.image)
        async with self.sandbox.open(spec) as box:
            for path, text in self.submission.workspace(self.problem).items():
                await box.write(f"/code/{path}", text.encode(errors="replace"))
            limits = Limits(wall_seconds=seconds, cpu_seconds=seconds)
            return await box.run(list(argv), env=self.toolchain.env(version), cwd="/code", limits=limits)


RewardTerm = Callable[[JudgedSubmission], Awaitable[float]]
REWARD_TERMS: Registry[RewardTerm] = Registry("reward term", "rtl_agent.reward_terms")


class RewardTermFault(Exception):
    """A term failed or gave what is not a finite number: a fault of ours, never the design's."""


async def measure(terms: Iterable[str], judged: JudgedSubmission) -> Mapping[str, float]:
    """What each of these terms says of a submission."""
    said: dict[str, float] = {}
    for name in terms:
        term = REWARD_TERMS[name]
        try:
            value = float(await term(judged))
        except SandboxError:
            raise  # tried again, as any other fault of the sandbox
        except Exception as error:  # whatever somebody else's code raises
            raise RewardTermFault(f"the reward term {name!r} failed: {type(error).__name__}: {error}") from error
        if not isfinite(value):
            raise RewardTermFault(f"the reward term {name!r} gave {value}: it must be a finite number")
        said[name] = value
    return said


async def check_reward_term(term: RewardTerm, judged: Sequence[JudgedSubmission]) -> None:
    """What every term must do, stated on submissions of your choice: AssertionError says what does not hold."""
    for one in judged:
        before = one.grade.to_json()
        first, second = await term(one), await term(one)
        assert isfinite(first), f"{one.problem.id}: {first} is not a finite number"
        assert first == second, f"{one.problem.id}: {first}, then {second}: the same files must get the same number"
        assert one.grade.to_json() == before, f"{one.problem.id}: the term changed the grade that it was shown"
        assert one.grade.outcome in (Outcome.PASSED, Outcome.FAILED), "terms are asked of judged submissions only"
