"""All that an answer and its grade depend on: answers made with other settings are other answers."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rtl_agent.envs.dialects.qwen import brief_tools_text, tools_text
from rtl_agent.envs.episode_config import EpisodeConfig, Level
from rtl_agent.envs.feedback import failures
from rtl_agent.envs.kinds import kind_of
from rtl_agent.grading import Diagnostic, Grade, Outcome, Stage, StageName, TestResult
from rtl_agent.problems import CocotbVersion, Harness, Kind, Needs, Problem
from rtl_agent.prompts import refine_message


class EvaluationError(Exception):
    """An evaluation cannot start or go on. Answers that were graded are kept, and are not asked for again."""

    exit_code = 2


class ModelGone(EvaluationError):
    """Whoever answers for the model does not answer any more."""

    exit_code = 3


@dataclass(frozen=True)
class EvaluationSettings:
    """Neither the number of samples nor of problems is here: more of them can be asked for later."""

    problems: str  # as the person named them
    model: str
    weights: str  # tells these weights from others of the same name, as far as can be known
    backend: str  # embedded, tinker, a server's URL, or "openai " and the endpoint's URL
    renderer: str  # "" where the endpoint renders
    temperature: float
    seed: int
    reward: str
    grading: str  # version of the rules and of the files in a grading box
    tools: Mapping[str, str]
    texts: str  # digest of what a model is told besides the problem
    episode: EpisodeConfig  # with its level and its system message

    def to_json(self) -> dict[str, Any]:
        """As it will be read back."""
        known: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return known

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()[:8]


# The words are made for problems that nobody is asked, one of each shape, so that a sentence counts wherever it is
# kept: in a text file, in the code around it, or in what is said of a failure.
CATEGORIES = tuple(f"cid{number:03}" for number in range(1, 22))  # CVDP's are below 17
_TARGETS = (("rtl/a.sv",), ("rtl/a.sv", "rtl/b.v"))
_FAILED_TESTS = Grade(
    "nobody",
    Outcome.FAILED,
    (Stage(StageName.INTERFACE, False, notes=("no port is called x",)), Stage(StageName.SYNTAX, True)),
    (TestResult("test_a.py::test_a[8]", False, "AssertionError: y is 0"), TestResult("test_a.py::test_a[9]", False)),
    (Diagnostic("verilator", "warning", "rtl/a.sv", 1, "width"),),
)
_NOT_COMPILED = Grade(
    "nobody",
    Outcome.FAILED,
    (Stage(StageName.SYNTAX, False),),
    diagnostics=(Diagnostic("icarus", "error", "rtl/a.sv", 1, "syntax error"),),
)
_GRADES = (_FAILED_TESTS, _NOT_COMPILED, Grade("nobody", Outcome.INVALID, reasons=("there is no module",)))


def texts_digest(episode: EpisodeConfig) -> str:
    """Of all words that may be said by these rules; what they are said of, the problem, has a digest of its own."""
    return hashlib.sha256(json.dumps(list(_texts(episode))).encode()).hexdigest()[:16]


def _texts(episode: EpisodeConfig) -> Iterator[str]:
    kind = kind_of(episode)
    problems = [_problem(category, one, to) for category in CATEGORIES for one in kind.problem_kinds for to in _TARGETS]
    if tools := kind.tools(episode):
        yield from (tools_text(tools), brief_tools_text(tools))
    yield from (message.content for problem in problems for message in kind.messages(problem, episode))
    if episode.level == Level.FEEDBACK:
        yield from (refine_message(failures(problems[0], grade)).content for grade in _GRADES)


def _problem(category: str, kind: Kind, targets: tuple[str, ...]) -> Problem:
    return Problem(
        id="nobody",
        family="nobody",
        category=category,
        difficulty="easy",
        kind=kind,
        needs=Needs.OPEN_TOOLS,
        prompt="Nobody is asked this.",
        context={"docs/a.md": "A file.", "rtl/a.sv": "module a; endmodule"},
        targets=targets,
        harness=Harness({}, (), CocotbVersion.V2),
    )
