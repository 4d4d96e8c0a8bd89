"""An evaluation from its options to its result."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rtl_agent.backends.watch import while_alive
from rtl_agent.envs.env import live_grader
from rtl_agent.envs.renderers import warnings_for
from rtl_agent.envs.agentic import workshop
from rtl_agent.evaluation.ask_all import Lost, ask_all
from rtl_agent.evaluation.errors import EvaluationError
from rtl_agent.evaluation.models import Model, ModelSpec, TextModel, TokenModel, open_model
from rtl_agent.evaluation.players import Player, Sampling
from rtl_agent.evaluation.problem_sets import ProblemSet
from rtl_agent.evaluation.result import Result
from rtl_agent.evaluation.rules import AGENTIC, Rules
from rtl_agent.evaluation.samples import Sample, SampleFile
from rtl_agent.evaluation.settings import Settings
from rtl_agent.evaluation.summary import usual_ks
from rtl_agent.evaluation.text_players import TextPlayer
from rtl_agent.evaluation.texts import texts_digest
from rtl_agent.evaluation.token_player import TokenPlayer
from rtl_agent.grading import DEFAULT_EXTRACTION, Extraction, GradeCache, Grader, default_cache_path, parse_weights
from rtl_agent.grading.executors.fingerprint import grading_version
from rtl_agent.problems import Problem
from rtl_agent.toolchain import Toolchain, find_toolchain

AT_A_TIME = 16


@dataclass(frozen=True)
class Options:
    """How problems are asked and answers judged. Fields left at None follow from the others."""

    rules: Rules = field(default_factory=Rules)
    samples: int = 1
    temperature: float | None = None  # None: 0 with one sample, 1 with several
    max_tokens: int = 1024
    seed: int = 0
    ks: tuple[int, ...] = ()
    reward: str = "staged"
    extraction: Extraction = DEFAULT_EXTRACTION
    timeout_seconds: float = 120.0
    jobs: int | None = None
    at_a_time: int = AT_A_TIME
    cache: bool = True

    @property
    def sampled_at(self) -> float:
        return self.temperature if self.temperature is not None else (0.0 if self.samples == 1 else 1.0)


@dataclass(frozen=True)
class Table:
    """What is open while episodes are played: a model, a grader, and how the two meet."""

    model: Model
    player: Player
    settings: Settings
    warnings: tuple[str, ...] = ()
    check: Callable[[], None] = field(default=lambda: None)


@asynccontextmanager
async def opened(spec: ModelSpec, options: Options, source: str, problems: Sequence[Problem]) -> AsyncIterator[Table]:
    """Model, tools and grader, ready to play."""
    weights = parse_weights(options.reward)
    toolchain = find_toolchain()
    tools = _versions(toolchain, problems)
    with GradeCache(default_cache_path() if options.cache else None) as cache:
        grader = Grader(
            weights=weights,
            jobs=options.jobs,
            timeout_seconds=options.timeout_seconds,
            toolchain=toolchain,
            cache=cache,
            extraction=options.extraction,
        )
        async with grader, open_model(spec) as model:
            with live_grader(grader):
                settings = _settings(model, options, source, tools)
                yield Table(model, _player(model, options, grader), settings, _warnings(model, options), _check(model))


async def evaluate(
    spec: ModelSpec,
    chosen: ProblemSet,
    options: Options,
    source: str,
    out: Path | None = None,
    *,
    fresh: bool = False,
    begun: Callable[[Table, Path], None] = lambda table, out: None,
    told: Callable[[Sample | Lost], None] = lambda one: None,
) -> tuple[Result, Path]:
    """The result, and where it was written. What an earlier call with the same settings has graded is reused."""
    async with opened(spec, options, source, chosen.problems) as table:
        out = out or default_out(table.settings)
        lines = out.with_suffix(".jsonl")
        if lines == out:
            raise EvaluationError(f"--out {out}: the samples are kept in {lines}; give the result another name, .json")
        begun(table, out)
        with SampleFile(lines, table.settings, fresh=fresh) as file:
            work = ask_all(
                chosen.problems,
                options.samples,
                table.player,
                file,
                seed=options.seed,
                at_a_time=options.at_a_time,
                told=told,
            )
            asked = await while_alive(table.check, work)
            result = Result(
                table.settings,
                options.samples,
                options.ks or usual_ks(options.samples),
                chosen.problems,
                chosen.left_out,
                asked,
                lines,
                _notes(asked.samples),
            )
            result.write(out)
    return result, out


def default_out(settings: Settings) -> Path:
    """The same for the same settings: the same command goes on where it was stopped."""
    words = (settings.model, Path(settings.problems).stem if "/" in settings.problems else settings.problems)
    named = "-".join(re.sub(r"[^A-Za-z0-9.@]+", "-", word).strip("-") for word in (*words, settings.env))
    return Path("evals") / f"{named[:120]}-{settings.digest}.json"


def _versions(toolchain: Toolchain, problems: Sequence[Problem]) -> dict[str, str]:
    """Of every tool; cocotb's generations side by side where the problems need both."""
    found: dict[str, list[str]] = {}
    for cocotb_version in sorted({problem.harness.cocotb_version for problem in problems}):
        for name, version in toolchain.versions(cocotb_version).items():
            found.setdefault(name, []).append(version)
    return {name: ", ".join(dict.fromkeys(versions)) for name, versions in found.items()}


def _settings(model: Model, options: Options, source: str, tools: dict[str, str]) -> Settings:
    return Settings(
        problems=source,
        model=model.name,
        weights=model.weights,
        backend=model.backend,
        env=options.rules.env,
        level=options.rules.information.value,
        system=model.system,
        renderer=model.renderer,
        temperature=options.sampled_at,
        max_tokens=options.max_tokens,
        seed=options.seed,
        reward=options.reward,
        extraction=options.extraction.value,
        timeout_seconds=options.timeout_seconds,
        grading=grading_version(),
        tools=tools,
        texts=texts_digest(options.rules, model.system),
        options=options.rules.recorded(),
    )


def _player(model: Model, options: Options, grader: Grader) -> Player:
    sampling = Sampling(options.sampled_at, options.max_tokens)
    if isinstance(model, TextModel):
        where = workshop() if options.rules.env == AGENTIC else None
        return TextPlayer(model, sampling, options.rules, grader, where)
    most = options.rules.budget(model.context) or model.context
    if options.max_tokens >= most:
        raise EvaluationError(f"--max-tokens {options.max_tokens}: a prompt and its answer have {most} tokens in all")
    return TokenPlayer(model, sampling, options.rules)


def _warnings(model: Model, options: Options) -> tuple[str, ...]:
    found: list[str] = []
    if options.samples > 1 and options.sampled_at == 0:
        found.append(f"{options.samples} samples at temperature 0 are mostly the same answer: pass@k says little")
    if isinstance(model, TokenModel):
        found += warnings_for(model.base, model.renderer, options.max_tokens)
    return tuple(found)


def _check(model: Model) -> Callable[[], None]:
    return model.connection.check if isinstance(model, TokenModel) else lambda: None


def _notes(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Of all samples, also of those that an earlier call asked for."""
    without = Counter(name for sample in samples for name in sample.not_sent)
    return tuple(
        f"the endpoint refused {name}: {count} of {len(samples)} answers were asked for without it"
        for name, count in without.items()
    )
