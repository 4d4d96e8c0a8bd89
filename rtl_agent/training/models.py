"""The student and its teacher on a backend: their names are checked before anything is made, then clients for them."""

from collections.abc import Iterable
from typing import Any

import tinker

from rtl_agent.backends.connect import EMBEDDED, Connection
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.registry import PluginError, UnknownName, did_you_mean
from rtl_agent.runs import Checkpoint
from rtl_agent.teachers import SAME_TOKENS, TEACHERS, Teacher
from rtl_agent.training.config import Config
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.student import Student

DEFAULT_CONTEXT = 32_768  # of models whose server does not say
_PROBE = "module arbiter #(parameter WIDTH = 8) (input logic clk); // assign grant_valid <= |req;\n"


def model_names(config: Config) -> list[str]:
    return [name for name in dict.fromkeys((config.student, config.teacher)) if name]


def check_embedded_models(config: Config) -> None:
    """Before a server is started: BadConfig for a model that this machine does not have."""
    from rtl_agent.backends.engine.contract import EngineError
    from rtl_agent.backends.models.registry import OWN, model_directory

    for name in model_names(config):
        try:
            model_directory(name)
        except EngineError as error:
            raise BadConfig(f"{error}{did_you_mean(name, OWN, most=1)}") from error


async def context_length(connection: Connection, config: Config) -> int:
    """The tokens that a prompt and its answer may have in all. BadConfig where the server lacks one of the models."""
    capabilities = await connection.capabilities()
    known = {str(one.model_name): one for one in capabilities.supported_models}
    if known:
        _check_known(model_names(config), known, config.model.backend)
    return int(getattr(known.get(config.student), "max_context_length", None) or DEFAULT_CONTEXT)


def _check_known(names: Iterable[str], known: Iterable[str], backend: str) -> None:
    for name in names:
        if name not in known:
            has = ", ".join(sorted(known))
            where = "the embedded server" if backend == EMBEDDED else backend
            raise BadConfig(f"{where} has no model {name}{did_you_mean(name, known, most=1)}; it has {has}")


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


async def open_teacher(connection: Connection, config: Config) -> Teacher | None:
    """None where no term of the objective asks for one."""
    objective = config.objective
    if config.mode != "distill" or not (objective.kl_penalty_coef or objective.forward_kl_coef):
        return None
    client = await _teacher_client(connection, config)
    try:
        kind = TEACHERS[config.model.teacher_kind]
    except (UnknownName, PluginError) as error:
        raise BadConfig(f"teacher_kind={config.model.teacher_kind}: {error}") from error
    return kind(client, config.teacher, objective.forward_kl_topk if objective.forward_kl_coef else 0)


async def open_evaluated_teacher(connection: Connection, config: Config) -> tinker.SamplingClient | None:
    """A teacher can be evaluated whether it advises or not."""
    if config.mode != "distill" or not config.eval.teacher:
        return None
    return await _teacher_client(connection, config)


async def _teacher_client(connection: Connection, config: Config) -> tinker.SamplingClient:
    names = (config.student, config.teacher)
    if config.model.teacher_kind == SAME_TOKENS:
        check_same_vocabulary(tokenizer_for(names[0]), tokenizer_for(names[1]), names)
    return await connection.service.create_sampling_client_async(base_model=config.teacher)


def check_same_vocabulary(student: Any, teacher: Any, names: tuple[str, str]) -> None:
    """Tokenizers, compared by what they do and by every token they have: advice on other tokens is noise."""
    same = student.encode(_PROBE) == teacher.encode(_PROBE) and student.get_vocab() == teacher.get_vocab()
    if not same:
        raise BadConfig(
            f"{names[0]} and {names[1]} have different vocabularies ({len(student.get_vocab()):,} and "
            f"{len(teacher.get_vocab()):,} tokens): a teacher must read the student's own tokens. Choose one of the "
            "same family"
        )
