"""The student and its teacher on a backend: their names are checked before anything is made, then clients for them."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tinker
from tinker_cookbook.completers import StopCondition

from rtl_agent.backends.adapters import SHIPPED_ADAPTERS, find_adapter
from rtl_agent.backends.adapters import WEIGHTS as ADAPTER_WEIGHTS
from rtl_agent.backends.connect import Connection
from rtl_agent.backends.engine.contract import EngineError
from rtl_agent.byte_vocabulary import ByteVocabulary, NotBytes
from rtl_agent.envs.dialects.registry import reading_dialect
from rtl_agent.envs.teacher_view import Thinking as ThinkingSeen
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.problems import BUNDLED, Problem, load_problems
from rtl_agent.prompts import reference_reply
from rtl_agent.registry import PluginError, UnknownName
from rtl_agent.runs import Checkpoint
from rtl_agent.teachers import OTHER_TOKENS, SAME_TOKENS, TEACHERS, Teacher, TeacherSetup, TinkerScorer
from rtl_agent.teachers.alignment import align
from rtl_agent.teachers.known_text import TEXT
from rtl_agent.teachers.other_tokens import LONGEST_CHUNK, ONE_TO_ONE
from rtl_agent.teachers.teacher import COVERING_TOPK
from rtl_agent.training.advisor import Advisor
from rtl_agent.training.config import Config
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.privileged import PrivilegedPrompt
from rtl_agent.training.readers import OtherTokens, Privileged, Reader, Verbatim
from rtl_agent.training.spending import Spending
from rtl_agent.training.student import PolicyLoss, Student
from rtl_agent.training.tasks import TrainingTasks
from rtl_agent.training.teacher_options import SELF
from rtl_agent.training.teachers import OpenTeacher, Teachers, check_known, check_own_models, on_the_students_server

AUTO, SAVED = "auto", "tinker://"
KNOWN_TEXTS = 200  # problems whose references are looked at
DEFAULT_CONTEXT = 32_768  # of models whose server does not say
_PROBE = "module arbiter #(parameter WIDTH = 8) (input logic clk); // assign grant_valid <= |req;\n"


def model_names(config: Config) -> list[str]:
    """Of the models on the student's server."""
    return list(dict.fromkeys((config.student, *on_the_students_server(config))))


def check_embedded_models(config: Config) -> None:
    """Before a server is started: BadConfig for a model that this machine does not have, or weights of another one."""
    check_own_models(model_names(config), config.model.engine)
    path = config.model.load_checkpoint_path
    try:
        adapter = find_adapter(path) if path else None
    except EngineError as error:
        raise BadConfig(f"load_checkpoint_path={path}: {error}") from error
    if adapter and adapter.base != config.student:
        raise BadConfig(
            f"load_checkpoint_path={path}: this adapter was trained from {adapter.base}, not from {config.student}: "
            f"set model_name={adapter.base}"
        )
    if path and not adapter and not path.startswith(SAVED):
        raise BadConfig(
            f"load_checkpoint_path={path}: neither a tinker:// path nor a folder with {ADAPTER_WEIGHTS}"
            + "".join(f", nor {name}" for name in SHIPPED_ADAPTERS)
        )


async def context_length(connection: Connection, config: Config) -> int:
    """The tokens that a prompt and its answer may have in all. BadConfig where the server lacks one of the models."""
    capabilities = await connection.capabilities()
    known = {str(one.model_name): one for one in capabilities.supported_models}
    if known:
        check_known(model_names(config), known, config.model.backend)
    return int(getattr(known.get(config.student), "max_context_length", None) or DEFAULT_CONTEXT)


async def open_student(
    connection: Connection, config: Config, checkpoint: Checkpoint | None, spending: Spending
) -> Student:
    """At the checkpoint, at the weights that the options name, or at the model itself."""
    service = connection.service
    if checkpoint and checkpoint.state_path:
        client = await service.create_training_client_from_state_with_optimizer_async(checkpoint.state_path)
    elif path := _start_weights(connection, config):
        client = await service.create_training_client_from_state_async(path)
    else:
        given = config.model
        client = await service.create_lora_training_client_async(
            given.student, rank=given.lora_rank, seed=config.run.seed, train_unembed=given.train_unembed
        )
    return Student(client, PolicyLoss.of(config), config.optim.grad_clip_norm, _deleting(connection), spending.trained)


def _deleting(connection: Connection) -> Callable[[str], Awaitable[None]]:
    """Deletes a checkpoint by its path; the client for it is made when it is first needed."""
    made: list[tinker.RestClient] = []

    async def delete(path: str) -> None:
        if not made:
            made.append(tinker.RestClient(base_url=connection.base_url, api_key=connection.api_key))
        await made[0].delete_checkpoint_from_tinker_path_async(path)

    return delete


def _start_weights(connection: Connection, config: Config) -> str:
    """The tinker:// path of what training begins with; "" for the model itself."""
    path = config.model.load_checkpoint_path
    adapter = find_adapter(path) if path else None
    return connection.adopt(adapter) if adapter else path


AdvisorOf = Callable[[Problem], Advisor | None]


async def open_advisors(
    connection: Connection, config: Config, tasks: TrainingTasks, teachers: Teachers | None, spending: Spending
) -> AdvisorOf:
    """Who advises on a problem; nobody where no term of the objective asks for a teacher."""
    objective = config.objective
    if config.mode != "distill" or not (objective.kl_penalty_coef or objective.forward_kl_coef):
        return lambda problem: None
    if config.teacher == SELF:
        itself = await _self_advisor(connection, config, tasks, forward_topk(config))
        itself = replace(itself, spent=spending.scored(None))
        return lambda problem: itself
    assert teachers is not None
    known = teachers
    advisors = {one.name: replace(_advisor(config, tasks, one), spent=spending.scored(one.spec)) for one in known.all}
    return lambda problem: advisors[known.of(problem).name]


def alignment_lines(config: Config, teachers: Teachers) -> list[str]:
    """Of each teacher with another tokenizer: how much of a known module can be compared. BadConfig if nothing can."""
    found = []
    for opened in teachers.all:
        student, teacher = tokenizer_for(config.student), tokenizer_for(opened.tokenizer)
        if teacher_kind(config, student, teacher, opened.name) != OTHER_TOKENS:
            continue
        try:
            ours, theirs = ByteVocabulary.from_tokenizer(student), ByteVocabulary.from_tokenizer(teacher)
        except NotBytes as error:
            raise BadConfig(f"teacher {opened.name} has another tokenizer than {config.student}: {error}") from error
        mine, others = ours.encode(TEXT.encode()), theirs.encode(TEXT.encode())
        if mine is None or others is None:
            raise BadConfig(f"teacher {opened.name}: a tokenizer does not give back a Verilog module as it was")
        kinds: Counter[str] = Counter()
        for chunk in align(ours.pieces(mine), theirs.pieces(others)):
            short = chunk.span[1] - chunk.span[0] <= LONGEST_CHUNK
            kinds[chunk.kind if short else "long"] += chunk.student[1] - chunk.student[0]
        aligned, alone = 1 - kinds["long"] / len(mine), kinds[ONE_TO_ONE] / len(mine)
        found.append(
            f"teacher {opened.name} has another tokenizer: {aligned:.0%} of the student's tokens in a Verilog module "
            f"can be compared, {alone:.0%} one to one"
        )
    return found


def forward_topk(config: Config) -> int:
    """How many of a teacher's likeliest tokens become soft targets."""
    return config.objective.forward_kl_topk if config.objective.forward_kl_coef else 0


def asked_topk(config: Config, opened: OpenTeacher) -> int:
    """How many a server is asked for: of other tokens some in any case, to split a chunk's score."""
    student, teacher = tokenizer_for(config.student), tokenizer_for(opened.tokenizer)
    other = teacher_kind(config, student, teacher, opened.name) == OTHER_TOKENS
    return max(forward_topk(config), COVERING_TOPK if other else 0)


def _advisor(config: Config, tasks: TrainingTasks, opened: OpenTeacher) -> Advisor:
    objective, scorer = config.objective, opened.scorer
    topk = forward_topk(config)
    student, teacher = tokenizer_for(config.student), tokenizer_for(opened.tokenizer)
    kind = teacher_kind(config, student, teacher, opened.name)
    if kind == OTHER_TOKENS:
        dialect = reading_dialect(opened.tokenizer, opened.renderer)
        ends = end_of_turn(tasks.template.wording.stop), end_of_turn(dialect.stop())
        reader: Reader = OtherTokens(dialect, ThinkingSeen(config.model.teacher_thinking))
        texts = known_texts(tasks.sampler.problems) if topk else ()
        setup = TeacherSetup(scorer, topk, student, teacher, _both(ends), objective.forward_kl_guard, texts)
    else:
        reader, setup = Verbatim(), TeacherSetup(scorer, topk, student, teacher)
    try:
        made = TEACHERS[kind](setup)
    except (UnknownName, PluginError, NotBytes) as error:
        raise BadConfig(f"teacher_kind={kind}: {error}") from error
    return Advisor(lambda client: made, reader)


async def _self_advisor(connection: Connection, config: Config, tasks: TrainingTasks, topk: int) -> Advisor:
    """The student itself, by its present weights or by those that it started from, told more than it was asked with."""
    without = [problem.id for problem in tasks.sampler.problems if not problem.reference]
    if config.model.teacher_sees == "reference" and without:
        raise BadConfig(
            f"teacher_sees=reference: {len(without)} of {len(tasks.sampler.problems)} problems have no reference "
            f"solution, {without[0]} among them; choose others by problems=, or teacher_sees=feedback"
        )
    reader = Privileged(PrivilegedPrompt(config.model.teacher_sees))
    if config.model.teacher_weights == "current":
        return Advisor(lambda client: _same_tokens(client, "the student itself", topk), reader)
    client = await _client_at_start(connection, config)
    fixed = _same_tokens(client, "the student as it was", topk)
    return Advisor(lambda client: fixed, reader)


def _same_tokens(client: tinker.SamplingClient, name: str, topk: int) -> Teacher:
    return TEACHERS[SAME_TOKENS](TeacherSetup(TinkerScorer(client, name), topk))


async def _client_at_start(connection: Connection, config: Config) -> tinker.SamplingClient:
    if path := _start_weights(connection, config):
        return await connection.service.create_sampling_client_async(model_path=path)
    return await connection.service.create_sampling_client_async(base_model=config.student)


@dataclass(frozen=True)
class EvaluatedTeacher:
    """A teacher that answers problems itself."""

    client: tinker.SamplingClient
    model: str
    renderer_name: str


def evaluated_teacher(config: Config, teachers: Teachers | None) -> EvaluatedTeacher | None:
    """A teacher can be evaluated whether it advises or not; of several the first. The student itself is anyway."""
    if teachers is None or not config.eval.teacher:
        return None
    first = teachers.all[0]
    return EvaluatedTeacher(first.sampler, first.tokenizer, first.renderer)


def end_of_turn(stop: StopCondition) -> int | None:
    """The token that ends an answer; None where a text does."""
    first = next(iter(stop), None)
    return first if isinstance(first, int) else None


def _both(ends: tuple[int | None, int | None]) -> tuple[int, int] | None:
    ours, theirs = ends
    return None if ours is None or theirs is None else (ours, theirs)


def known_texts(problems: Sequence[Problem]) -> tuple[str, ...]:
    """Right answers to these problems, or to the bundled ones: where two tokenizers cut them alike, their tokens are
    the same actions."""
    for known in (problems[:KNOWN_TEXTS], load_problems(BUNDLED)):
        if found := tuple(filter(None, map(reference_reply, known))):
            return found
    return ()


def teacher_kind(config: Config, student: Any, teacher: Any, name: str = "") -> str:
    """How the teacher reads the student's tokens: as they are if the two tokenizers are the same. BadConfig if not."""
    same = same_vocabulary(student, teacher)
    wanted = config.model.teacher_kind
    if wanted == SAME_TOKENS and not same:
        raise BadConfig(
            f"{config.student} and {name or config.teacher} have different vocabularies ({len(student.get_vocab()):,} "
            f"and {len(teacher.get_vocab()):,} tokens), so teacher_kind={SAME_TOKENS} would score other tokens: leave "
            "it out, or choose a teacher of the same family"
        )
    if wanted != AUTO:
        return wanted
    return SAME_TOKENS if same else OTHER_TOKENS


def same_vocabulary(student: Any, teacher: Any) -> bool:
    """Tokenizers, compared by what they do and by every token they have: advice on other tokens is noise."""
    return bool(student.encode(_PROBE) == teacher.encode(_PROBE) and student.get_vocab() == teacher.get_vocab())
