"""The teachers of a run, opened: each with a server, a scorer, a tokenizer and a renderer, and checked before the run.

Those on servers of their own are opened before a run directory is made; those on the student's server with it.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import tinker

from rtl_agent.backends.connect import EMBEDDED, CannotConnect, Connection, connect
from rtl_agent.envs.renderers import UnknownRenderer, default_renderer, renderer_for
from rtl_agent.envs.tokenizers import NoTokenizer, tokenizer_for
from rtl_agent.problems import Problem
from rtl_agent.registry import did_you_mean
from rtl_agent.teachers.known_text import TEXT, opinion
from rtl_agent.teachers.openai_scorer import open_openai
from rtl_agent.teachers.patience import Patience, PatientScorer
from rtl_agent.teachers.scorer import Scorer, ScoringError, TinkerScorer
from rtl_agent.teachers.servers.model import Asked, ServedModel
from rtl_agent.training.config import Config
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.presets import OWN_MODELS
from rtl_agent.training.teacher_options import (
    SAME,
    Rule,
    TeacherSpec,
    idle_rules,
    teacher_of,
    teacher_rules,
)


@dataclass(frozen=True)
class OpenTeacher:
    """`tokenizer` and `renderer` are names, as `tokenizer_for` and `renderer_for` take them."""

    spec: TeacherSpec
    scorer: Scorer
    sampler: tinker.SamplingClient
    tokenizer: str
    renderer: str
    context: int | None = None

    @property
    def name(self) -> str:
        return self.spec.name


@dataclass(frozen=True)
class Teachers:
    """All of a run, and who teaches what."""

    all: tuple[OpenTeacher, ...]
    rules: tuple[Rule, ...] = ()

    def of(self, problem: Problem) -> OpenTeacher:
        name = teacher_of(problem, [one.name for one in self.all], self.rules)
        return next(one for one in self.all if one.name == name)

    def check_rules(self, problems: Sequence[Problem]) -> None:
        """BadConfig for a rule that fits none of the problems to learn from."""
        if idle := idle_rules(self.rules, problems):
            raise BadConfig(
                f"teacher_for={idle[0].pattern}:{idle[0].teacher}: no problem to learn from has the category, family "
                f"or id {idle[0].pattern}"
            )


@dataclass(frozen=True)
class Elsewhere:
    """Teachers on servers of their own; `check` looks whether those that this process started are alive."""

    teachers: tuple[OpenTeacher, ...]
    connections: tuple[Connection, ...]

    def with_student(self, connection: Connection) -> "Elsewhere":
        return Elsewhere(self.teachers, (connection, *self.connections))

    def check(self) -> None:
        for connection in self.connections:
            connection.check()


async def open_elsewhere(config: Config, stack: AsyncExitStack, say: Callable[[str], None]) -> Elsewhere:
    """BadConfig where a server does not answer, lacks the model, or gives no scores."""
    connections: dict[tuple[str, str], Connection] = {}
    found = []
    for spec in wanted(config):
        if spec.backend == SAME:
            continue
        patience = Patience(config.model.teacher_patience, say)
        key = _key(spec)
        try:
            if spec.is_openai:
                served = await open_openai(spec.backend, spec.name, key or "")
                stack.push_async_callback(served.aclose)
                found.append(await _of_server(spec, served, patience))
                continue
            place = (spec.backend, spec.key_variable)
            if place not in connections:
                models = [one.name for one in wanted(config) if one.backend == EMBEDDED]
                if spec.backend == EMBEDDED:
                    check_own_models(models, config.model.engine)
                engine = config.model.engine or None
                connections[place] = stack.enter_context(
                    connect(spec.backend, api_key=key, models=models, engine=engine)
                )
            teacher = await _of_connection(spec, connections[place], spec.backend)
            found.append(OpenTeacher(**{**vars(teacher), "scorer": PatientScorer(teacher.scorer, patience)}))
        except (CannotConnect, ScoringError) as error:
            raise BadConfig(f"teacher {spec.name}: {error}") from error
    return Elsewhere(tuple(found), tuple(connections.values()))


async def open_teachers(config: Config, connection: Connection, elsewhere: Elsewhere) -> Teachers | None:
    """All of them, those on the student's server now. None where no term of the objective asks for one."""
    if not wanted(config):
        return None
    known = {teacher.name: teacher for teacher in elsewhere.teachers}
    found = [
        known[spec.name] if spec.name in known else await _of_connection(spec, connection, config.model.backend)
        for spec in wanted(config)
    ]
    return Teachers(tuple(found), teacher_rules(config.model))


def wanted(config: Config) -> tuple[TeacherSpec, ...]:
    """The teachers that are asked for anything."""
    objective = config.objective
    asked = objective.kl_penalty_coef or objective.forward_kl_coef or config.eval.teacher
    return config.teachers if asked else ()


def on_the_students_server(config: Config) -> list[str]:
    return [spec.name for spec in config.teachers if spec.backend == SAME]


def check_own_models(names: Sequence[str], engine: str = "") -> None:
    """Before a server is started: BadConfig for a model that this machine does not have, or that no engine runs."""
    from rtl_agent.backends.engine.contract import EngineError
    from rtl_agent.backends.engine.registry import choose_engine
    from rtl_agent.backends.models.registry import OWN

    for name in names:
        try:
            choose_engine(name, engine or None)
        except EngineError as error:
            near = did_you_mean(name, OWN, most=1)
            raise BadConfig(f"{str(error).removesuffix('.')}{near}") from error


def check_known(names: Iterable[str], known: Iterable[str], backend: str) -> None:
    """BadConfig for a model that a Tinker-compatible server does not have."""
    for name in names:
        if name not in known:
            has = ", ".join(sorted(known))
            where = "the embedded server" if backend == EMBEDDED else backend
            raise BadConfig(f"{where} has no model {name}{did_you_mean(name, known, most=1)}; it has {has}")


async def _of_server(spec: TeacherSpec, served: ServedModel, patience: Patience) -> OpenTeacher:
    tokenizer = _tokenizer_name(spec, served.root)
    renderer = _renderer_name(spec, served.root, tokenizer)
    ours, theirs = _encoded(tokenizer), await served.encode(TEXT)
    if theirs is not None and theirs != ours:
        raise BadConfig(
            f"teacher {spec.name}: {tokenizer} is not the tokenizer of {served.name}: it makes {len(ours)} tokens of a "
            f"Verilog module, the server {len(theirs)}, or others; set teacher_tokenizer"
        )
    scorer = PatientScorer(served, patience)
    sampler = cast(tinker.SamplingClient, ServedSampler(served, patience))
    return OpenTeacher(spec, scorer, sampler, tokenizer, renderer, served.context)


async def _of_connection(spec: TeacherSpec, connection: Connection, backend: str) -> OpenTeacher:
    capabilities = await connection.capabilities()
    known = {str(one.model_name): one for one in capabilities.supported_models}
    if known:
        check_known([spec.name], known, backend)
    tokenizer = _tokenizer_name(spec)
    renderer = _renderer_name(spec, "", tokenizer)
    client = await connection.service.create_sampling_client_async(base_model=spec.name)
    context = getattr(known.get(spec.name), "max_context_length", None)
    return OpenTeacher(spec, TinkerScorer(client, spec.name), client, tokenizer, renderer, context)


def _key(spec: TeacherSpec) -> str | None:
    if not spec.key_variable:
        return None
    key = os.environ.get(spec.key_variable)
    if not key:
        raise BadConfig(f"teacher_api_key_env={spec.key_variable}: this variable of the environment is not set")
    return key


def _tokenizer_name(spec: TeacherSpec, root: str = "") -> str:
    """By the option, by the model's name, or by where its server has it from. BadConfig where it cannot be had."""
    names = [spec.tokenizer] if spec.tokenizer else [name for name in dict.fromkeys((spec.name, root)) if name]
    faults = []
    for name in names:
        try:
            tokenizer_for(name)
        except NoTokenizer as error:
            faults.append(str(error))
        else:
            return name
    raise BadConfig(f"teacher {spec.name}: {faults[0]}; teacher_tokenizer= says where the teacher's is")


def _renderer_name(spec: TeacherSpec, root: str, tokenizer: str) -> str:
    names = [spec.name, root, tokenizer]
    try:
        name = spec.renderer or next(filter(None, map(_default_renderer, names)), "") or default_renderer(spec.name)
        renderer_for(name, tokenizer_for(tokenizer))
    except UnknownRenderer as error:
        said = str(error).replace("renderer_name", "teacher_renderer_name")
        raise BadConfig(f"teacher {spec.name}: {said}") from error
    return name


def _default_renderer(name: str) -> str:
    try:
        return default_renderer(name.rstrip("/"))
    except UnknownRenderer:
        return ""


def _encoded(tokenizer: str) -> list[int]:
    tokens: list[int] = tokenizer_for(tokenizer).encode(TEXT, add_special_tokens=False)
    return tokens


async def check_scores(teacher: OpenTeacher, topk: int) -> tuple[str, str]:
    """A line about the teacher, and a doubt, "" for none. BadConfig where its scores cannot be those of a model.

    `topk` is how many of its likeliest tokens will be asked for.
    """
    tokens = _encoded(teacher.tokenizer)
    if teacher.context is not None and len(tokens) + 1 > teacher.context:
        raise BadConfig(
            f"teacher {teacher.name}: {teacher.scorer.name} takes {teacher.context} tokens, and a short Verilog module "
            f"has {len(tokens)}: start its server with a longer context"
        )
    inner = teacher.scorer.scorer if isinstance(teacher.scorer, PatientScorer) else teacher.scorer  # no waiting yet
    try:
        found = await opinion(inner, tokens, topk)
    except (ScoringError, tinker.TinkerError) as error:
        raise BadConfig(f"teacher {teacher.name}: {error}") from error
    line = f"teacher {inner.name} gives a known Verilog module {found.logprob_per_byte:.3f} nats per byte"
    small = teacher.name.startswith(OWN_MODELS)  # knows sixteen families of designs, and this is of none of them
    return line, f"teacher {teacher.name}: {found.doubt}" if found.doubt and not small else ""


@dataclass(frozen=True)
class ServedSampler:
    """A model of an OpenAI-compatible server, as a `Policy` samples from it: Tinker's call, Tinker's answer."""

    model: ServedModel
    patience: Patience

    async def sample_async(
        self, prompt: tinker.ModelInput, num_samples: int, sampling_params: tinker.SamplingParams, **ignored: Any
    ) -> Any:
        stop = sampling_params.stop if isinstance(sampling_params.stop, list) else [sampling_params.stop]
        asked = Asked(
            sampling_params.max_tokens or 1,
            sampling_params.temperature,
            sampling_params.seed or 0,
            tuple(one for one in stop if isinstance(one, int)),
            tuple(one for one in stop if isinstance(one, str)),
        )
        found = [
            await self.patience.ask(lambda: self.model.sample(prompt.to_ints(), asked)) for _ in range(num_samples)
        ]
        sequences = [
            SimpleNamespace(tokens=list(one.tokens), logprobs=None, stop_reason="stop" if one.stopped else "length")
            for one in found
        ]
        return SimpleNamespace(sequences=sequences, prompt_logprobs=None)
