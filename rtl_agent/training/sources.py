"""Which problems a run learns from, and which it is tested on."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rtl_agent.envs.task_sampler import gradable, partition
from rtl_agent.problems import BadRecord, NoSuchProblems, Problem, Split, load_problems
from rtl_agent.problems.generate import HELD_OUT_WHOLE, TRAINED, as_workspace, generate
from rtl_agent.training.config import Config
from rtl_agent.training.environments import kinds_for
from rtl_agent.training.errors import BadConfig

GENERATED, WORKSPACES = "generated", "generated-workspaces"  # the latter with the specification in a file
TEST, NEW = "test", "new"  # prefixes of metrics: problems of the held-out side, and families never trained on
TEST_SEED = 77_000


@dataclass(frozen=True)
class ProblemSets:
    """`tests` by the prefix of their metrics; empty sets are left out."""

    train: tuple[Problem, ...]
    tests: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def problem_sets(config: Config) -> ProblemSets:
    """From files, or drawn anew by the run's seed."""
    sets = _generated(config) if config.cvdp_jsonl_path in (GENERATED, WORKSPACES) else _read(config)
    most = config.eval_problems or None
    tests = {name: problems[:most] for name, problems in sets.tests.items() if problems}
    return ProblemSets(sets.train[: config.limit or None], tests, sets.left_out)


def exam_sets(config: Config) -> dict[str, tuple[Problem, ...]]:
    """Problems for the exam alone: the test sets' families and sides, drawn by another seed."""
    if not config.exam_problems:
        return {}
    if config.cvdp_jsonl_path not in (GENERATED, WORKSPACES):
        wanted = f"cvdp_jsonl_path={GENERATED} or {WORKSPACES}"
        raise BadConfig(f"exam_problems needs {wanted}: files have one held-out side, the test's")
    return _tests(config, config.exam_seed, config.exam_problems)


def _read(config: Config) -> ProblemSets:
    try:
        problems = load_problems(config.cvdp_jsonl_path)
    except (BadRecord, NoSuchProblems, OSError) as error:
        raise BadConfig(f"cvdp_jsonl_path={config.cvdp_jsonl_path}: {error}") from error
    named = _named(config, problems)
    found, left_out = gradable(named, kinds_for(config, named))
    if not found:
        first = f" ({left_out[0]})" if left_out else ""
        raise BadConfig(f"{config.cvdp_jsonl_path} has no problem for env={config.env} that can be graded here{first}")
    if not config.heldout:
        return ProblemSets(tuple(found), {}, tuple(left_out))
    sides = partition(found, held_out=config.heldout_fraction, seed=config.split_seed)
    return ProblemSets(sides.train, {TEST: sides.held_out}, tuple(left_out))


def _generated(config: Config) -> ProblemSets:
    """The families that `problems` names, or all. Tests are the same for every seed of a run."""
    _ensure_playable(config)
    train = _in_form(config, generate(config.seed, config.generated_problems, families=_drawn(config)))
    if not config.heldout:
        return ProblemSets(train)
    return ProblemSets(train, _tests(config, TEST_SEED, config.eval_problems or 8 * len(_families(config))))


def _tests(config: Config, seed: int, count: int) -> dict[str, tuple[Problem, ...]]:
    """Unseen instances of the chosen families; as many of each that is held out whole, unless families were chosen."""
    families = _families(config)
    tests = {TEST: _in_form(config, generate(seed, count, families=families, split=Split.HELD_OUT))}
    if not config.problems:
        of_new = max(1, count * len(HELD_OUT_WHOLE) // len(families))
        tests[NEW] = _in_form(config, generate(seed, of_new, families=HELD_OUT_WHOLE, split=Split.HELD_OUT))
    return tests


def _in_form(config: Config, problems: Sequence[Problem]) -> tuple[Problem, ...]:
    return tuple(map(as_workspace, problems) if config.cvdp_jsonl_path == WORKSPACES else problems)


def _ensure_playable(config: Config) -> None:
    if config.cvdp_jsonl_path == WORKSPACES and config.env != "agentic":
        raise BadConfig(f"cvdp_jsonl_path={WORKSPACES} needs env=agentic: one reply cannot read a file")


def _families(config: Config) -> list[str]:
    families = [name for name in TRAINED if _matches(config, f"{GENERATED}_{name}", name)]
    if not families:
        raise BadConfig(f"problems={config.problems}: the families are {', '.join(TRAINED)}")
    return families


def _drawn(config: Config) -> list[str]:
    """The families to learn from, one as often as the emphasis on it says; families that are not chosen stay out."""
    times: dict[str, int] = {}
    for part in filter(None, map(str.strip, config.emphasis.split(","))):
        name, _, count = part.partition("*")
        if name not in TRAINED or not count.isdecimal() or not int(count):
            wanted = f"FAMILY*TIMES with one of {', '.join(TRAINED)}"
            raise BadConfig(f"emphasis={config.emphasis}: {part!r} is no {wanted}")
        times[name] = int(count)
    return [name for name in _families(config) for _ in range(times.get(name, 1))]


def _named(config: Config, problems: Sequence[Problem]) -> list[Problem]:
    found = [problem for problem in problems if _matches(config, problem.id, problem.family)]
    if not found:
        raise BadConfig(f"problems={config.problems}: nothing in {config.cvdp_jsonl_path} has such an id or family")
    return found


def _matches(config: Config, *names: str) -> bool:
    patterns = [pattern.strip() for pattern in config.problems.split(",") if pattern.strip()]
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)
