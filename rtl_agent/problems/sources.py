"""PROBLEMS as a person writes it -> problems. Every command and the Python API resolve it here.

    load_problems("bundled")                        the problems that come with the package
    load_problems("CVDP.jsonl")                     a CVDP file, or a folder of them
    load_problems("my-problems/")                   problems as directories: see `directories.py`
    load_problems("generated:counter,count=20")     drawn by seed: see `generate/`
    load_problems("verilog-eval:PATH")              a checkout of another set, also rtllm: and chipbench: see `sets/`
    load_problems("mine:whatever")                  the source `mine` that another package registers

A source is a function; an installed package adds one with an entry point of the group `rtl_agent.problem_sources`, and
`checks.py` has what every source must do.
"""

import fnmatch
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Protocol, runtime_checkable

from rtl_agent.problems.cvdp import OnBad, read_problems
from rtl_agent.problems.directories import NearMiss, problem_directories, read_directories
from rtl_agent.problems.problem import BadRecord, NoSuchProblems, Problem
from rtl_agent.problems.select import Split
from rtl_agent.problems.sets import chipbench_source, rtllm_source, verilog_eval_source
from rtl_agent.registry import Registry, did_you_mean

BUNDLED, GENERATED, WORKSPACES = "bundled", "generated", "generated-workspaces"
# The held-out problems of `generated` are drawn by this seed: the same ones in every evaluation.
TEST_SEED = 77_000


@dataclass(frozen=True)
class LoadOptions:
    """What a caller wants of a source beside the problems themselves."""

    on_bad: OnBad | None = None  # gets what cannot be read, which is then left out; None: the first one is raised
    count: int = 0  # how many to draw, for sources that draw; 0: as many as the source thinks fit


class ProblemSource(Protocol):
    """Problems by the name of their source. `argument` is what stands after the colon in `NAME:ARGUMENT`, or "".

    Ids are unique and of the form `<set>_<topic>_<number>`; the same call gives the same problems in the same order.
    `NoSuchProblems` with a sentence says that there are none, `BadRecord` that one cannot be read.
    """

    def __call__(self, argument: str, options: LoadOptions) -> Iterable[Problem]: ...


@runtime_checkable
class ProblemGenerator(Protocol):
    """A source that draws as many problems as are wanted, on either side of a split."""

    families: Sequence[str]  # that may be trained on
    new_families: Sequence[str]  # held out whole

    def __call__(self, argument: str, options: LoadOptions) -> Iterable[Problem]: ...

    def draw(
        self, seed: int, count: int, *, families: Sequence[str] = (), split: Split = Split.TRAIN
    ) -> list[Problem]: ...


PROBLEM_SOURCES: Registry[ProblemSource] = Registry("problem source", "rtl_agent.problem_sources")


def load_problems(source: str, *, skip_bad: bool = False, on_bad: OnBad | None = None, count: int = 0) -> list[Problem]:
    """The problems of a source.

    Args:
        source: `bundled`, a CVDP JSONL file or a folder of them, a directory of problem directories, `generated`,
            `generated:new`, `generated:FAMILY,...`, `generated-workspaces`, `verilog-eval:PATH`, `rtllm:PATH`,
            `chipbench:PATH`, or `NAME` or `NAME:ARGUMENT` of another source that is registered.
        skip_bad: leave out what cannot be read instead of raising `BadRecord`.
        on_bad: called with each `BadRecord` that is left out.
        count: how many problems a source that draws them should draw; others have as many as they have.

    Raises:
        NoSuchProblems: there is no such source, or it has no problems.
        BadRecord: a record cannot be read, and `skip_bad` is false.

    Example:
        >>> import rtl_agent as ra
        >>> problems = ra.load_problems("bundled")
        >>> problems[0].id
        'rtl_axi_stream_skid_buffer_0001'
    """
    find, argument = find_source(source)
    problems = list(find(argument, LoadOptions((on_bad or _ignore) if skip_bad else None, count)))
    if not problems:
        raise NoSuchProblems(f"{source} has no problems")
    return problems


def find_source(source: str) -> tuple[ProblemSource, str]:
    """The source that PROBLEMS names, and its argument. What names no source is a path."""
    name, _, argument = source.partition(":")
    if name in PROBLEM_SOURCES:
        return PROBLEM_SOURCES[name], argument
    if not Path(source).exists():
        raise NoSuchProblems(
            f"{source} does not exist{did_you_mean(name, PROBLEM_SOURCES)}; name a JSONL file, a directory of "
            f"problems, or one of {', '.join(PROBLEM_SOURCES)}"
        )
    return files_source, source


def _ignore(bad: BadRecord) -> None:
    pass


@PROBLEM_SOURCES.register("files")
def files_source(argument: str, options: LoadOptions) -> list[Problem]:
    """A CVDP JSONL file, a folder of them, a problem directory, or a directory of those."""
    path = Path(argument)
    if not path.exists():
        raise NoSuchProblems(f"{argument or 'files:'} does not exist")
    skip_bad = options.on_bad is not None
    if not path.is_dir():
        return read_problems(path, skip_bad=skip_bad, on_bad=options.on_bad)
    has_lines, has_directories = any(path.glob("*.jsonl")), bool(problem_directories(path))
    if has_lines and has_directories:
        raise NoSuchProblems(f"{path} has both *.jsonl files and problem directories; name one of them")
    if has_directories:
        return read_directories(path, on_bad=options.on_bad)
    if not has_lines:
        raise NoSuchProblems(f"{path} has no *.jsonl files and no problem directories (those with a prompt.md)")
    return read_problems(path, skip_bad=skip_bad, on_bad=options.on_bad)


@PROBLEM_SOURCES.register(BUNDLED)
def bundled_source(argument: str, options: LoadOptions) -> list[Problem]:
    """The problems that come with the package."""
    if argument:
        raise NoSuchProblems(f"`{BUNDLED}` takes no argument; choose among its problems with --id or --family")
    return read_problems(bundled_path(), skip_bad=options.on_bad is not None, on_bad=options.on_bad)


class Generated:
    """Instances of the generated families. ARGUMENT: families, `new`, count=N, seed=N, split=train|held-out.

    Without seed and split these are the held-out problems that every evaluation asks.
    """

    PER_FAMILY = 8  # as many as a run's own evaluations draw

    def __init__(self, name: str, as_asked: Callable[[Problem], Problem]) -> None:
        self._name, self._as_asked = name, as_asked

    @property
    def families(self) -> Sequence[str]:
        from rtl_agent.problems.generate import TRAINED

        return TRAINED

    @property
    def longer_families(self) -> Sequence[str]:
        """May be trained on, too, but are drawn only where they are named."""
        from rtl_agent.problems.generate import LONGER

        return LONGER

    @property
    def new_families(self) -> Sequence[str]:
        from rtl_agent.problems.generate import HELD_OUT_WHOLE

        return HELD_OUT_WHOLE

    def draw(self, seed: int, count: int, *, families: Sequence[str] = (), split: Split = Split.TRAIN) -> list[Problem]:
        from rtl_agent.problems.generate import generate

        return [self._as_asked(problem) for problem in generate(seed, count, families=families, split=split)]

    def __call__(self, argument: str, options: LoadOptions) -> list[Problem]:
        families: list[str] = []
        settings: dict[str, str] = {}
        for part in filter(None, map(str.strip, argument.split(","))):
            key, is_setting, value = part.partition("=")
            if is_setting:
                settings[key] = value
            else:
                families += self.new_families if part == "new" else [part]
        chosen = families or list(self.families)
        seed, count = self._number(settings, "seed", TEST_SEED), self._number(settings, "count", options.count)
        split = settings.pop("split", Split.HELD_OUT.value)
        if split not in set(Split):
            raise NoSuchProblems(f"{self._name}:{argument}: split={split} should be {' or '.join(Split)}")
        if settings:
            raise NoSuchProblems(f"{self._name}:{argument}: {next(iter(settings))} is not one of seed, count and split")
        try:
            return self.draw(seed, count or self.PER_FAMILY * len(chosen), families=chosen, split=Split(split))
        except NoSuchProblems as error:
            hint = f"`{self._name}:new` are those held out whole"
            raise NoSuchProblems(f"{self._name}:{argument}: {error}; {hint}") from error

    def _number(self, settings: dict[str, str], key: str, default: int) -> int:
        text = settings.pop(key, str(default))
        if not text.isdecimal():
            raise NoSuchProblems(f"{self._name}: {key}={text} should be a number")
        return int(text)


def matches(patterns: str, *names: str) -> bool:
    """Whether one of these names is among ids, families or globs that are separated by commas; none of them: any is."""
    wanted = [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]
    return not wanted or any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in wanted)


def matching_families(generator: ProblemGenerator, patterns: str) -> list[str]:
    """NoSuchProblems if there are none. Globs are for the usual families; longer ones are named in full."""
    families = [name for name in generator.families if matches(patterns, f"{GENERATED}_{name}", name)]
    named = {pattern.strip().removeprefix(f"{GENERATED}_") for pattern in patterns.split(",")}
    families += [name for name in _longer(generator) if name in named]
    if not families:
        every = ", ".join((*generator.families, *_longer(generator)))
        raise NoSuchProblems(f"problems={patterns}: the families are {every}")
    return families


def _longer(generator: ProblemGenerator) -> Sequence[str]:
    """Most generators have none."""
    found: Sequence[str] = getattr(generator, "longer_families", ())
    return found


def emphasised_families(generator: ProblemGenerator, patterns: str, emphasis: str) -> list[str]:
    """The matching families, one as often as the emphasis on it says, `alu*4,mux*2`; others stay out."""
    known = (*generator.families, *_longer(generator))
    times: dict[str, int] = {}
    for part in filter(None, map(str.strip, emphasis.split(","))):
        name, _, count = part.partition("*")
        if name not in known or not count.isdecimal() or not int(count):
            wanted = f"FAMILY*TIMES with one of {', '.join(known)}"
            raise NoSuchProblems(f"emphasis={emphasis}: {part!r} is not {wanted}")
        times[name] = int(count)
    return [name for name in matching_families(generator, patterns) for _ in range(times.get(name, 1))]


def _in_a_workspace(problem: Problem) -> Problem:
    from rtl_agent.problems.generate import as_workspace

    return as_workspace(problem)


PROBLEM_SOURCES.register(GENERATED)(Generated(GENERATED, lambda problem: problem))
PROBLEM_SOURCES.register(WORKSPACES)(Generated(WORKSPACES, _in_a_workspace))


PROBLEM_SOURCES.register("verilog-eval")(verilog_eval_source)
PROBLEM_SOURCES.register("rtllm")(rtllm_source)
PROBLEM_SOURCES.register("chipbench")(chipbench_source)


def bundled_path() -> Path:
    """The folder of the bundled set's JSONL files."""
    return Path(str(files("rtl_agent.problems").joinpath("data")))


def load_near_misses() -> list[NearMiss]:
    """The wrong answers of the bundled set. Those of a problem directory are read by `read_near_misses`."""
    path = bundled_path() / "near_misses" / "near_misses.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [NearMiss(record["id"], record["name"], record["wrong"], record["files"]) for record in records]
