"""What a run will take, before it is begun: tokens, dollars and hours, each from least to most.

Prompts are counted with the models' own tokenizers; how long answers will be is not known, so every figure is a range.
Nothing is connected, started or written.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.episode_config import AGENTIC, REFINE
from rtl_agent.envs.renderers import default_renderer
from rtl_agent.envs.task_sampler import TaskSampler
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.problems import Problem
from rtl_agent.prompts import PromptTooLong, reference_reply
from rtl_agent.training.config import Config
from rtl_agent.training.cost import PriceList, Tokens, load_prices
from rtl_agent.training.objective import Objective
from rtl_agent.training.tasks import exam_sets, problem_sets
from rtl_agent.training.teacher_options import SAME

SHORT_ANSWER = 400  # tokens, where no problem has a reference: a small module
SHOWN = 300  # tokens that a model is shown between two turns: what failed, or what a command printed
COUNTED = 400  # prompts at the most: their mean is what counts
# Seconds on Tinker's cloud in the two runs that are on record (docs/training.md): answers of 1,446 and of 4,096 tokens
# took 44 and 213 s, a training pass 31 and 24 s. All answers of a step are sampled at once.
TOKENS_PER_SECOND = (19.0, 33.0)
TRAINING_SECONDS = (24.0, 31.0)
LEAST, LIKELY, MOST = 0, 1, 2
Range = tuple[float, float, float]  # least, likely, most


@dataclass(frozen=True)
class Work:
    """Tokens of one model on one backend, from least to most."""

    model: str
    backend: str
    tokens: tuple[Tokens, Tokens, Tokens]
    dollars: Range | None  # None: no price is known


@dataclass(frozen=True)
class Forecast:
    """Of a whole run, its evaluations included."""

    steps: int
    episodes: int  # in training
    evaluated: int  # answers in evaluations, the preflight and the exam
    prompt: float  # tokens of a prompt, on average
    answer: Range  # tokens of one answer or turn
    turns: Range
    work: tuple[Work, ...]
    hours: Range | None  # None: nothing is on record for this backend
    prices: PriceList

    @property
    def dollars(self) -> Range | None:
        found = [one.dollars for one in self.work if one.dollars is not None]
        return (sum(x[0] for x in found), sum(x[1] for x in found), sum(x[2] for x in found)) if found else None


def forecast(config: Config) -> Forecast:
    """Reads the problems and the tokenizers; BadConfig or NoTokenizer where they cannot be had."""
    sets, exams = problem_sets(config), exam_sets(config)
    renderer = config.model.renderer_name or default_renderer(config.student)
    template = ProblemGroupBuilder(
        sets.train[0], config.optim.group_size, config.student, renderer, config.episode, None
    )
    sampler = TaskSampler(sets.train, config.optim.batch_size, seed=config.run.seed, epochs=config.optim.epochs)
    steps = config.optim.max_steps or len(sampler)
    prompt = _mean_prompt(template, sets.train)
    answer, turns = _answer(config, sets.train), _turns(config)
    episodes = steps * config.optim.batch_size * config.optim.group_size
    evaluations = len({*range(0, steps, config.eval.every), steps}) if config.eval.every else 0
    tested = evaluations * config.eval.samples * sum(map(len, sets.tests.values()))
    exam = sum(map(len, exams.values())) * (1 + config.eval.exam_samples)
    takers = set(filter(None, map(str.strip, config.eval.exam_of.split(","))))
    by_student = tested + exam * len(takers & {"before", "after"})
    passes = _passes(config)
    spent: dict[tuple[str, str], list[Tokens]] = {}
    for at in (LEAST, LIKELY, MOST):
        one = _episode(prompt, answer[at], turns[at])
        whole = prompt + turns[at] * answer[at] + (turns[at] - 1) * SHOWN
        preflight = min(config.eval.preflight_problems, len(sets.train)) if config.teachers else 0
        sampled = 0 if config.mode == "supervised" else episodes
        ours = one.times(sampled + by_student + preflight) + Tokens(train=round(whole * episodes * passes))
        spent.setdefault((config.student, config.model.backend), []).append(ours)
        for number, teacher in enumerate(config.teachers):
            backend = config.model.backend if teacher.backend == SAME else teacher.backend
            answers = preflight + (tested if config.eval.teacher and number == 0 else 0)
            scored = Tokens(prefill=round(whole * episodes / len(config.teachers))) if passes else Tokens()
            spent.setdefault((teacher.name, backend), []).append(scored + one.times(answers))
        if config.teacher == "self" and passes:
            spent[config.student, config.model.backend][-1] += Tokens(prefill=round(whole * episodes))
    prices = load_prices(config.budget.prices)
    work = tuple(
        Work(model, backend, (tokens[0], tokens[1], tokens[2]), _dollars(prices, model, backend, tokens))
        for (model, backend), tokens in spent.items()
    )
    hours = _hours(config, steps, evaluations, answer, turns)
    evaluated = by_student + (min(config.eval.preflight_problems, len(sets.train)) if config.teachers else 0)
    return Forecast(steps, episodes, evaluated, prompt, answer, turns, work, hours, prices)


def lines(found: Forecast, config: Config) -> Iterator[str]:
    """The forecast as a table: every figure at the least, as is likely, and at the most."""
    yield f"dry run: {found.steps:,} steps, {found.episodes:,} rollouts, {found.evaluated:,} answers in evaluations"
    yield _row("estimated", "least", "likely", "most")
    yield _row("tokens of a prompt (counted, on average)", *map(_figure, (found.prompt,) * 3))
    yield _row("tokens of an answer or turn (assumed)", *map(_figure, found.answer))
    if found.turns[MOST] > 1:
        yield _row("turns of an episode (assumed)", *map(_figure, found.turns))
    for one in found.work:
        yield f"{one.model} on {one.backend}"
        for kind, word in (("prefill", "read"), ("sample", "sampled"), ("train", "trained on")):
            counts = [getattr(tokens, kind) for tokens in one.tokens]
            if counts[MOST]:
                yield _row(f"  thousand tokens {word}", *(_figure(count / 1000) for count in counts))
        yield _row("  dollars", *map(_figure, one.dollars)) if one.dollars else _row("  dollars", "", "", "no price")
    if found.dollars:
        yield _row("dollars in all", *map(_figure, found.dollars))
    if found.hours:
        yield _row("hours (from two steps on record)", *map(_figure, found.hours))
        if config.budget.hour_price:
            dollars = (hours * config.budget.hour_price for hours in found.hours)
            yield _row(f"dollars at ${config.budget.hour_price:g} an hour", *map(_figure, dollars))
    yield from _notes(found)


def _notes(found: Forecast) -> Iterator[str]:
    priced = {one.model: found.prices.price(one.model, one.backend) for one in found.work}
    if found.dollars:
        days = sorted({price.as_of.isoformat() for price in priced.values() if price})
        yield f"Prices of {' and '.join(days)}, from {found.prices.source}. Storage is not counted."
    for model, price in priced.items():
        if price and price.retired:
            yield f"{model} was gone from that list by {price.retired}: its last known price is shown."
    if not found.hours:
        yield "Hours: nothing is on record for this backend; a run with max_steps=2 tells."
    yield "These are estimates: only the provider's bill says what was paid."


def _row(label: str, *figures: str) -> str:
    return f"{label:<44}{''.join(f'{figure:>11}' for figure in figures)}".rstrip()


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}" if value >= 10 else f"{value:.2f}"


def _mean_prompt(template: ProblemGroupBuilder, problems: Sequence[Problem]) -> float:
    """Of evenly chosen problems, if there are very many."""
    chosen = problems[:: -(-len(problems) // COUNTED)]
    prompts = [replace(template, problem=one).prompt() for one in chosen]
    return fmean(len(one.tokens) for one in prompts if not isinstance(one, PromptTooLong))


def _answer(config: Config, problems: Sequence[Problem]) -> Range:
    """From a right answer's length to the longest that may be; most likely in their geometric mean.

    The seed's runs had 1,446 and 4,096 tokens with max_tokens=4096.
    """
    most = float(config.episode.max_tokens)
    tokenizer = tokenizer_for(config.student)
    known = [len(tokenizer.encode(text)) for one in problems[:COUNTED] if (text := reference_reply(one))]
    least = min(most, fmean(known) if known else SHORT_ANSWER)
    return least, math.sqrt(least * most), most


def _turns(config: Config) -> Range:
    most = {REFINE: config.episode.rounds + 1, AGENTIC: config.episode.max_turns}.get(config.episode.kind, 1)
    return 1.0, math.sqrt(most), float(most)


def _episode(prompt: float, answer: float, turns: float) -> Tokens:
    """Every turn reads all that was said before it."""
    read = turns * prompt + (answer + SHOWN) * turns * (turns - 1) / 2
    return Tokens(prefill=round(read), sample=round(turns * answer))


def _passes(config: Config) -> int:
    """Passes of the trainer over each rollout."""
    if config.mode == "supervised":
        return 1
    objective = Objective.of(config)
    imitation = objective.forward_kl_coef > 0
    policy = objective.has_policy and not (imitation and objective.one_pass)
    return int(policy) + int(imitation)


def _dollars(prices: PriceList, model: str, backend: str, tokens: Sequence[Tokens]) -> Range | None:
    """At the least, prompts that the server has just read cost less."""
    price = prices.price(model, backend)
    if price is None:
        return None
    least = replace(price, prefill=price.prefill * prices.cached)
    return least.of(tokens[LEAST]), price.of(tokens[LIKELY]), price.of(tokens[MOST])


def _hours(config: Config, steps: int, evaluations: int, answer: Range, turns: Range) -> Range | None:
    if config.model.backend != "tinker":
        return None
    slow, fast = TOKENS_PER_SECOND
    speeds, training = (
        (fast, math.sqrt(slow * fast), slow),
        (TRAINING_SECONDS[0], fmean(TRAINING_SECONDS), TRAINING_SECONDS[1]),
    )
    found = [
        ((turns[at] * answer[at] / speeds[at]) * (steps + evaluations) + training[at] * steps) / 3600
        for at in (LEAST, LIKELY, MOST)
    ]
    return found[0], found[1], found[2]
