"""What the grader says of a submission: `Grade`, as data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """`error` is our own fault, never a reward of 0: such a grade leaves the batch and is counted."""

    PASSED = "passed"
    FAILED = "failed"
    INVALID = "invalid"
    ERROR = "error"


class StageName(StrEnum):
    FORMAT = "format"
    INTERFACE = "interface"
    SYNTAX = "syntax"
    TESTS = "tests"


@dataclass(frozen=True)
class Stage:
    """One step of judging. `passed` is None where it could not be judged; `score` is the part that is right."""

    name: StageName
    passed: bool | None
    score: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compared:
    """Values of one signal that a test compared, how many matched, and how often the same value was expected."""

    compared: int
    matched: int
    commonest: int


@dataclass(frozen=True)
class Checks:
    """What the checks of one test found that depend on the design; counted where a reward asks for it."""

    evaluated: int  # until the test ended
    held: int  # before the first that did not
    other: int  # assertions that no signal of the design decides; they count nowhere
    changes_held: int  # of those that held: they expect another value of a signal than the one before did
    changes: int  # of that kind in the second pass, in which no check stops the test
    whole: bool  # that pass came to the end of the test
    time_ns: float  # of simulation, until the test ended
    signals: Mapping[str, Compared]

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Checks":
        signals = {name: Compared(**compared) for name, compared in data["signals"].items()}
        return Checks(**{**data, "signals": signals})


@dataclass(frozen=True)
class TestResult:
    """One cocotb test, or one pytest item, by name. `passed` is None when it was skipped."""

    __test__ = False  # not a test class, whatever pytest thinks of the name

    name: str
    passed: bool | None
    message: str | None = None
    time_ns: float | None = None  # simulation time when it ended
    where: str | None = None  # file and line of the failing check
    service: str = ""
    item: str = ""  # the pytest item that it ran in; "" for the item itself
    checks: Checks | None = None

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "TestResult":
        checks = data.get("checks")
        return TestResult(**{**data, "checks": checks and Checks.from_json(checks)})


@dataclass(frozen=True)
class SimulationResult:
    """One run of the simulator: who started it, the seed of its stimulus, and how its tests ended."""

    service: str
    item: str  # the pytest item that started it
    seed: int  # the harness's own where it fixes one, else derived from the job's seed and the simulation's number
    tests: int
    passed: int
    time_ns: float | None = None  # simulation time when the last test ended
    evaluated: int | None = None  # checks, where they were counted
    held: int | None = None


@dataclass(frozen=True)
class Diagnostic:
    """One line of a tool's complaint."""

    tool: str
    severity: str  # "error", "warning", "note"
    file: str
    line: int
    text: str
    column: int = 0


@dataclass(frozen=True)
class Reward:
    """The weighted parts, their sum, and the most that could be had."""

    parts: Mapping[str, float]
    total: float
    maximum: float


@dataclass(frozen=True)
class ProgressPart:
    """One thing that shows how far a design came, from 0 to 1, and why; None where it cannot be known."""

    name: str
    value: float | None
    reason: str


@dataclass(frozen=True)
class Progress:
    """How far a failed design came in its tests (grading/progress.py)."""

    score: float  # what `dense` gives for the tests, of 1
    parts: tuple[ProgressPart, ...] = ()
    signals: Mapping[str, float] = field(default_factory=dict)  # share of compared values that matched
    beyond_tests: bool = False  # it earns more than the tests that passed do

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Progress":
        return Progress(**{**data, "parts": tuple(ProgressPart(**part) for part in data["parts"])})


@dataclass(frozen=True)
class Grade:
    """Everything that is known of one submission to one problem."""

    problem_id: str
    outcome: Outcome
    stages: tuple[Stage, ...] = ()
    tests: tuple[TestResult, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    reward: Reward = field(default_factory=lambda: Reward({}, 0.0, 0.0))
    reasons: tuple[str, ...] = ()  # why it did not pass, in sentences, the most telling first
    timings: Mapping[str, float] = field(default_factory=dict)  # seconds by stage; `cpu` is CPU seconds in boxes
    tools: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    path: str = "exact"
    path_reason: str = ""  # why this path
    simulations: tuple[SimulationResult, ...] = ()  # those whose cocotb tests started
    readable: tuple[str, ...] = ()  # files of the harness that a tool needed by name while it worked on the design
    log: str = ""  # the last of what the failing service printed, for people
    terms: Mapping[str, float] = field(default_factory=dict)  # what reward terms of one's own said, by name
    extraction: str = ""  # how the files were read off a reply; "" when files were handed in
    only: tuple[str, ...] = ()  # the tests that were asked for, where not all were: no full grade, and no reward
    progress: Progress | None = None  # of a design that failed, where a reward asks for it
    cached: bool = False  # it was made before; the timings are those of that time

    def stage(self, name: StageName) -> Stage:
        return next((stage for stage in self.stages if stage.name is name), Stage(name, None))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Grade":
        known = dict(data)
        known["outcome"] = Outcome(data["outcome"])
        known["stages"] = tuple(
            Stage(StageName(stage["name"]), stage["passed"], stage["score"], tuple(stage["notes"]))
            for stage in data["stages"]
        )
        known["tests"] = tuple(TestResult.from_json(test) for test in data["tests"])
        known["diagnostics"] = tuple(Diagnostic(**diagnostic) for diagnostic in data["diagnostics"])
        known["reward"] = Reward(**data["reward"])
        known["reasons"] = tuple(data["reasons"])
        known["simulations"] = tuple(SimulationResult(**simulation) for simulation in data["simulations"])
        known["readable"] = tuple(data["readable"])
        known["only"] = tuple(data.get("only", ()))  # grades of before have none
        progress = data.get("progress")
        known["progress"] = progress and Progress.from_json(progress)
        return Grade(**known)
