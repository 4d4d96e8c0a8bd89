"""The student and its teacher on a backend: their names are checked before anything is made, then clients for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from rtl_agent.backends.connect import Connection
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.registry import PluginError, UnknownName
from rtl_agent.runs import Checkpoint
from rtl_agent.teachers import SAME_TOKENS, TEACHERS, Advice, Teacher, TopK
from rtl_agent.teachers.scorer import Scorer
from rtl_agent.training.config import Config
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.student import Student
from rtl_agent.training.teachers import OpenTeacher, Teachers, check_known, check_own_models, on_the_students_server

DEFAULT_CONTEXT = 32_768  # of models whose server does not say
_PROBE = "module arbiter #(parameter WIDTH = 8) (input logic clk); // assign grant_valid <= |req;\n"


def model_names(config: Config) -> list[str]:
    """Of the models on the student's server."""
    return list(dict.fromkeys((config.student, *on_the_students_server(config))))


def check_embedded_models(config: Config) -> None:
    """Before a server is started: BadConfig for a model that this machine does not have."""
    check_own_models(model_names(config))


async def context_length(connection: Connection, config: Config) -> int:
    """The tokens that a prompt and its answer may have in all. BadConfig where the server lacks one of the models."""
    capabilities = await connection.capabilities()
    known = {str(one.model_name): one for one in capabilities.supported_models}
    if known:
        check_known(model_names(config), known, config.model.backend)
    return int(getattr(known.get(config.student), "max_context_length", None) or DEFAULT_CONTEXT)


async def open_student(connection: Connection, config: Config, checkpoint: Checkpoint | None) -> Student:
    """At the checkpoint, at the weights that the options name, or at the model itself."""
    service = connection.service
    if checkpoint and checkpoint.state_path:
        client = await service.create_training_client_from_state_with_optimizer_async(checkpoint.state_path)
    elif config.model.load_checkpoint_path:
        client = await service.create_training_client_from_state_async(config.model.load_checkpoint_path)
    else:
        client = await service.create_lora_training_client_async(
            config.student, rank=config.model.lora_rank, seed=config.run.seed
        )
    return Student(client, config.objective.loss_fn, config.optim.grad_clip_norm)


@dataclass(frozen=True)
class _SameTokens:
    """A model with the student's vocabulary on any server, which reads the sequence as it is."""

    scorer: Scorer
    topk: int

    @property
    def name(self) -> str:
        return self.scorer.name

    async def advise(self, tokens: Sequence[int]) -> Advice:
        scores = await self.scorer.score(tokens, topk=self.topk)
        return Advice(tuple(one or 0.0 for one in scores.logprobs), cast(tuple[TopK | None, ...], scores.top))


def open_advisors(config: Config, teachers: Teachers | None) -> dict[str, Teacher | None]:
    """By the teacher's name; None where no term of the objective asks for one."""
    objective = config.objective
    asked = objective.kl_penalty_coef or objective.forward_kl_coef
    return {one.name: _advisor(one, config) if asked else None for one in (teachers.all if teachers else ())}


def _advisor(teacher: OpenTeacher, config: Config) -> Teacher:
    objective = config.objective
    topk = objective.forward_kl_topk if objective.forward_kl_coef else 0
    if config.model.teacher_kind == SAME_TOKENS:
        names = (config.student, teacher.name)
        check_same_vocabulary(tokenizer_for(config.student), tokenizer_for(teacher.tokenizer), names)
        return _SameTokens(teacher.scorer, topk)
    try:
        kind = TEACHERS[config.model.teacher_kind]
    except (UnknownName, PluginError) as error:
        raise BadConfig(f"teacher_kind={config.model.teacher_kind}: {error}") from error
    return kind(teacher.sampler, teacher.name, topk)


def check_same_vocabulary(student: Any, teacher: Any, names: tuple[str, str]) -> None:
    """Tokenizers, compared by what they do and by every token they have: advice on other tokens is noise."""
    same = student.encode(_PROBE) == teacher.encode(_PROBE) and student.get_vocab() == teacher.get_vocab()
    if not same:
        raise BadConfig(
            f"{names[0]} and {names[1]} have different vocabularies ({len(student.get_vocab()):,} and "
            f"{len(teacher.get_vocab()):,} tokens): a teacher must read the student's own tokens. Choose one of the "
            "same family"
        )
