"""An evaluation from its options to its result, and one episode to watch."""

import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rtl_agent.audit.filtering import ANY_TRUST, NotTrusted, TrustFilter
from rtl_agent.backends.connect import while_alive
from rtl_agent.difficulty import PassRates, TriesOf, default_pass_rates_path
from rtl_agent.envs.env import live_grader
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.kinds import resolved, token_budget, why_unplayable
from rtl_agent.envs.renderers import warnings_for
from rtl_agent.envs.rollout import seed_of
from rtl_agent.evaluation.models import Model, ModelSpec, TextModel, TokenModel, open_model
from rtl_agent.evaluation.players import Player, TokenPlayer, Watcher
from rtl_agent.evaluation.result import EvaluationResult
from rtl_agent.evaluation.samples import EvaluationSample, LostSample, SampleFile, ask_all
from rtl_agent.evaluation.settings import EvaluationError, EvaluationSettings, texts_digest
from rtl_agent.evaluation.summary import usual_ks
from rtl_agent.evaluation.text_player import TextPlayer
from rtl_agent.grading import Extraction, GradeCache, Grader, default_cache_path, parse_weights
from rtl_agent.grading.cache_key import grading_version
from rtl_agent.grading.executors import LOCAL
from rtl_agent.options import BadOption
from rtl_agent.problems import (
    BadRecord,
    NoSuchProblems,
    Problem,
    Selection,
    choose,
    load_problems,
    problem_digest,
)
from rtl_agent.runs.episode import Episode
from rtl_agent.runs.files import append_line, cannot, to_line


@dataclass(frozen=True)
class ProblemSet:
    problems: tuple[Problem, ...]
    left_out: tuple[str, ...] = ()  # a sentence for each
    trust: TrustFilter = ANY_TRUST


def problem_set(
    source: str,
    selection: Selection,
    *,
    episode: EpisodeConfig = EpisodeConfig(),  # frozen
    limit: int = 0,
    skip_bad: bool = False,
    on_bad: Callable[[BadRecord], None] | None = None,
    trust: TrustFilter = ANY_TRUST,
) -> ProblemSet:
    """The selected problems of a source; of one that draws problems, `limit` are drawn."""
    found = load_problems(source, skip_bad=skip_bad, on_bad=on_bad, count=limit)
    chosen = choose(found, selection, source)
    kept: list[Problem] = []
    trusted, left_out = _trusted(chosen, trust)
    for problem in trusted:
        if why := why_unplayable(problem, episode):
            left_out.append(f"{problem.id} is left out: {why}")
        else:
            kept.append(problem)
    if not kept:
        first = f" ({left_out[0]})" if left_out else ""
        raise NoSuchProblems(f"{source} has no problem that is selected and can be asked and graded here{first}")
    return ProblemSet(tuple(kept[: limit or None]), tuple(left_out), trust)


def _trusted(problems: Sequence[Problem], trust: TrustFilter) -> tuple[list[Problem], list[str]]:
    try:
        return trust.apply(problems)
    except NotTrusted as error:
        raise EvaluationError(str(error)) from error


AT_A_TIME = 16


@dataclass(frozen=True)
class EvaluationOptions:
    """How problems are asked and answers judged. Fields left at None follow from the others."""

    episode: EpisodeConfig = field(default_factory=EpisodeConfig)
    samples: int = 1
    temperature: float | None = None  # None: 0 with one sample, 1 with several
    seed: int = 0
    ks: tuple[int, ...] = ()
    reward: str = "staged"
    jobs: int | None = None
    executor: str = LOCAL
    at_a_time: int = AT_A_TIME
    cache: bool = True

    @property
    def sampled_at(self) -> float:
        return self.temperature if self.temperature is not None else (0.0 if self.samples == 1 else 1.0)


@dataclass(frozen=True)
class OpenEvaluation:
    """What is open while episodes are played: a model, a grader, and how the two meet."""

    model: Model
    player: Player
    settings: EvaluationSettings
    warnings: tuple[str, ...] = ()
    check: Callable[[], None] = field(default=lambda: None)


@asynccontextmanager
async def opened(
    spec: ModelSpec, options: EvaluationOptions, source: str, problems: Sequence[Problem]
) -> AsyncIterator[OpenEvaluation]:
    """Model, tools and grader, ready to play."""
    weights = parse_weights(options.reward)
    with GradeCache(default_cache_path() if options.cache else None) as cache:
        grader = Grader(
            weights=weights,
            jobs=options.jobs,
            timeout_seconds=options.episode.timeout_seconds,
            executor=options.executor,
            cache=cache,
            extraction=Extraction(options.episode.extraction),
        )
        async with grader, open_model(spec) as model:
            tools = _merged(await grader.tools(problems))
            with live_grader(grader):
                try:
                    episode = resolved(options.episode, model.base)
                except BadOption as error:
                    raise EvaluationError(str(error)) from error
                player = _player(model, options, episode, grader)
                settings = _settings(model, options, episode, source, tools)
                yield OpenEvaluation(model, player, settings, _warnings(model, options), _check(model))


async def evaluate(
    spec: ModelSpec,
    chosen: ProblemSet,
    options: EvaluationOptions,
    source: str,
    out: Path | None = None,
    *,
    fresh: bool = False,
    begun: Callable[[OpenEvaluation, Path], None] = lambda opened, out: None,
    told: Callable[[EvaluationSample | LostSample], None] = lambda one: None,
) -> tuple[EvaluationResult, Path]:
    """The result, and where it was written. What an earlier call with the same settings has graded is reused."""
    async with opened(spec, options, source, chosen.problems) as evaluation:
        out = out or default_out(evaluation.settings)
        lines = out.with_suffix(".jsonl")
        if lines == out:
            raise EvaluationError(f"--out {out}: the samples are kept in {lines}; give the result another name, .json")
        begun(evaluation, out)
        with SampleFile(lines, evaluation.settings, fresh=fresh) as file:
            work = ask_all(
                chosen.problems,
                options.samples,
                evaluation.player,
                file,
                seed=options.seed,
                at_a_time=options.at_a_time,
                told=told,
            )
            asked = await while_alive(evaluation.check, work)
            result = EvaluationResult(
                evaluation.settings,
                options.samples,
                options.ks or usual_ks(options.samples),
                chosen.problems,
                chosen.left_out,
                asked,
                lines,
                _notes(asked.samples),
                chosen.trust.record(chosen.problems),
            )
            result.write(out)
            _record_pass_rates(result)
    return result, out


def _record_pass_rates(result: EvaluationResult) -> None:
    """For curricula and `rtl-agent problems difficulty`. The same evaluation counts once, however often it is read."""
    if not result.is_score:
        return
    digests = {problem.id: problem_digest(problem) for problem in result.problems}
    passed: dict[str, list[bool]] = {}
    for sample in result.asked.samples:
        passed.setdefault(digests[sample.episode.problem_id], []).append(sample.passed)
    found = [TriesOf(digest, sum(every), len(every) - sum(every)) for digest, every in passed.items()]
    with PassRates(default_pass_rates_path()) as rates:
        rates.record(result.settings.model, f"{result.samples_file.resolve()} {result.settings.digest}", 0, found)


async def play(
    spec: ModelSpec,
    problem: Problem,
    options: EvaluationOptions,
    source: str,
    watcher: Watcher,
    out: Path | None = None,
) -> tuple[Episode, Path]:
    """One episode to watch, and the JSONL it was added to: the first sample of an evaluation with these options."""
    async with opened(spec, options, source, [problem]) as evaluation:
        work = evaluation.player.play(problem, seed_of(options.seed, problem.id, 0), watcher)
        try:
            played = await while_alive(evaluation.check, work)
        except EpisodeFailed as failure:
            raise EvaluationError(f"the episode ended without a grade: {failure}") from failure
        path = out or _default_play(evaluation.settings, problem)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot("write", path, error) from error
        append_line(path, to_line(played.episode.to_json()))
    return played.episode, path


def default_out(settings: EvaluationSettings) -> Path:
    """The same for the same settings: the same command resumes where it was stopped."""
    source = Path(settings.problems).stem if "/" in settings.problems else settings.problems
    named = "-".join(map(_as_file_name, (settings.model, source, settings.episode.kind)))
    return Path("evals") / f"{named[:120]}-{settings.digest}.json"


def _default_play(settings: EvaluationSettings, problem: Problem) -> Path:
    named = f"{problem.id}-{_as_file_name(settings.model)[:60]}-{settings.episode.kind}"
    return Path("plays") / f"{named}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"


def _as_file_name(word: str) -> str:
    return re.sub(r"[^A-Za-z0-9.@]+", "-", word).strip("-")


def _merged(tools: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The version of every tool; cocotb's generations side by side where the problems need both."""
    found: dict[str, list[str]] = {}
    for versions in tools:
        for name, version in versions.items():
            found.setdefault(name, []).append(version)
    return {name: ", ".join(dict.fromkeys(versions)) for name, versions in found.items()}


def _settings(
    model: Model, options: EvaluationOptions, episode: EpisodeConfig, source: str, tools: dict[str, str]
) -> EvaluationSettings:
    return EvaluationSettings(
        problems=source,
        model=model.name,
        weights=model.weights,
        backend=model.backend,
        renderer=model.renderer,
        temperature=options.sampled_at,
        seed=options.seed,
        reward=options.reward,
        grading=grading_version(),
        tools=tools,
        texts=texts_digest(episode),
        episode=episode,
    )


def _player(model: Model, options: EvaluationOptions, episode: EpisodeConfig, grader: Grader) -> Player:
    if isinstance(model, TextModel):
        return TextPlayer(model, episode, options.sampled_at, grader)
    most = token_budget(episode, model.context).total or model.context
    if episode.max_tokens >= most:
        raise EvaluationError(f"max_tokens={episode.max_tokens}: a prompt and its answer have {most} tokens in all")
    return TokenPlayer(model, episode, options.sampled_at)


def _warnings(model: Model, options: EvaluationOptions) -> tuple[str, ...]:
    found: list[str] = []
    if options.samples > 1 and options.sampled_at == 0:
        found.append(f"{options.samples} samples at temperature 0 are mostly the same answer: pass@k says little")
    if isinstance(model, TokenModel):
        found += warnings_for(model.base, model.renderer, options.episode.max_tokens)
    return tuple(found)


def _check(model: Model) -> Callable[[], None]:
    return model.connection.check if isinstance(model, TokenModel) else lambda: None


def _notes(samples: Sequence[EvaluationSample]) -> tuple[str, ...]:
    """Of all samples, also of those that an earlier call asked for."""
    without = Counter(name for sample in samples for name in sample.not_sent)
    return tuple(
        f"the endpoint refused {name}: {count} of {len(samples)} answers were asked for without it"
        for name, count in without.items()
    )
