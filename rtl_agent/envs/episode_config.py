"""The rules of an episode: one set of names and defaults for training, evaluation, `play` and the Python API.

Needs neither torch nor tinker. Which fields count depends on the kind of environment; all of them are part of every
record, so that two results can be compared by them.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from rtl_agent.grading.submission import DEFAULT_EXTRACTION, Extraction
from rtl_agent.options import check_options, option
from rtl_agent.sandbox import MIB

SINGLE, REFINE, AGENTIC = "single", "refine", "agentic"  # the kinds that come with the package


class Level(StrEnum):
    """How much a model may know while it works. Each level allows what the one before it does, and more."""

    SPEC = "spec"  # the task and its files; no tool that compiles or simulates
    OWN_TESTS = "own-tests"  # may write test benches and run them
    FEEDBACK = "feedback"  # a submission that fails is answered with what failed, without the harness's code
    OPEN = "open"  # the harness is in the workspace: for finding faults in problems

    @property
    def has_tools(self) -> bool:
        return self is not Level.SPEC

    @property
    def is_scored(self) -> bool:
        """A model that has seen the tests was not measured by them."""
        return self is not Level.OPEN


class RefineReward(StrEnum):
    """Which round's reward a refinement episode earns."""

    BEST = "best"
    LAST = "last"


@dataclass(frozen=True)
class EpisodeConfig:
    """How a problem is asked, how long a model may work on it, and how its answer is read and simulated."""

    kind: str = option(
        SINGLE, "environment: single (one answer), refine (told what was wrong) or agentic (a shell)", alias="env"
    )
    level: str = option(
        "",
        "what a model may know: spec, own-tests, feedback or open; empty: the environment's usual level (agentic: "
        "own-tests)",
        choices=("", *Level),
    )
    system: str = option("", "system message: default, spec-aware or short; empty: short for rtl-agent/*, else default")

    # length
    max_tokens: int = option(1024, "maximum tokens of one answer or turn", at_least=1)
    episode_tokens: int = option(0, "maximum tokens of a whole conversation; 0: the model's context", at_least=0)
    max_prompt_tokens: int = option(
        0, "maximum tokens of the first prompt, context files are cut to fit; 0: what the context leaves", at_least=0
    )
    max_turns: int = option(50, "maximum turns of an agentic episode", at_least=1)
    rounds: int = option(2, "further answers after the first one (env=refine)", at_least=0)
    tries: int = option(3, "submissions of an agent that is told what failed (level=feedback)", at_least=1)

    # tools
    extra_tools: bool = option(False, "give an agent the tools lint, simulate and submit beside the shell")
    episode_seconds: float = option(3600.0, "seconds that an agent's tools may take in all", above=0, resume=True)
    command_seconds: float = option(60.0, "seconds that one command of an agent may take", above=0)

    # the answer
    refine_reward: str = option(
        RefineReward.LAST.value, "round that earns the reward: best or last (env=refine)", choices=tuple(RefineReward)
    )
    extraction: str = option(
        DEFAULT_EXTRACTION.value,
        "how files are read from a reply: forgiving, or cvdp (as CVDP's runner does)",
        choices=tuple(Extraction),
    )
    # 120 s, not 60: the slowest of CVDP's references took 61 s of wall clock on a busy machine, and a right design that
    # is stopped is a wrong verdict. Only designs that hang cost more by it. The time is part of a cached grade's key:
    # with one default, training, `eval` and `grade` share their grades.
    timeout_seconds: float = option(120.0, "maximum seconds of a simulation (one service)", above=0, resume=True)

    # limits that are seldom changed
    max_parse_errors: int = option(
        3, "turns in a row without a call that can be run, after which an episode ends", at_least=1, advanced=True
    )
    max_calls: int = option(8, "tool calls that are run in one turn", at_least=1, advanced=True)
    feedback_characters: int = option(4000, "characters of a message about failures", at_least=1, advanced=True)
    shown_characters: int = option(
        8000, "characters of a command's output: half from its head, half from its tail", at_least=2, advanced=True
    )
    command_cpu_seconds: float = option(
        0.0, "CPU seconds of each process of a command; 0: command_seconds", at_least=0, advanced=True
    )
    episode_cpu_seconds: float = option(600.0, "CPU seconds of all commands of an episode", above=0, advanced=True)
    memory_bytes: int = option(
        2048 * MIB, "memory of a workspace where cgroups can be written, else of each process", above=0, advanced=True
    )
    disk_bytes: int = option(256 * MIB, "size of /code, and again of /tmp", above=0, advanced=True)
    file_bytes: int = option(64 * MIB, "size of one file", above=0, advanced=True)
    processes: int = option(128, "processes of a workspace at once", at_least=1, advanced=True)
    output_bytes: int = option(16 * MIB, "output after which a command is stopped", above=0, advanced=True)

    def __post_init__(self) -> None:
        check_options(self)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
