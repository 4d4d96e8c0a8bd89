"""Start a run: check, connect, resume or begin, train, report. Whatever goes wrong ends in a sentence."""

import asyncio
import logging
import re
import time
from contextlib import AsyncExitStack
from pathlib import Path

import tinker
from rich.console import Console

from rtl_agent.backends.connect import CannotConnect, Connection, connect, while_alive
from rtl_agent.backends.server.embedded import ServerDied
from rtl_agent.envs.dialects.registry import UnknownDialect
from rtl_agent.envs.env import live_grader
from rtl_agent.envs.renderers import UnknownRenderer, default_renderer, warnings_for
from rtl_agent.envs.tokenizers import NoTokenizer, tokenizer_for
from rtl_agent.grading import Extraction, GradeCache, Grader, default_cache_path
from rtl_agent.runs import Checkpoint, RunError, RunWriter
from rtl_agent.teachers import Teacher
from rtl_agent.toolchain import find_toolchain
from rtl_agent.training.advantages import Signal
from rtl_agent.training.classroom import Classroom, open_classroom
from rtl_agent.training.config import FIXED, Config, to_json, warnings
from rtl_agent.training.display import Display
from rtl_agent.training.errors import BackendGone, BadConfig, LossNotFinite, TrainingError
from rtl_agent.training.evaluate import held_out
from rtl_agent.training.exam import Exam
from rtl_agent.training.loop import Loop, ensure_steps, first_step
from rtl_agent.training.sources import exam_sets, problem_sets
from rtl_agent.training.student import Student
from rtl_agent.training.trackers import Trackers
from rtl_agent.training.vocabulary import check_same_vocabulary

log = logging.getLogger("rtl_agent.training")


def start(config: Config, console: Console) -> Path:
    """Train, and return the run directory. TrainingError says what went wrong."""
    try:
        return asyncio.run(_run(config, console))
    except (CannotConnect, NoTokenizer, UnknownDialect, UnknownRenderer) as error:
        raise BadConfig(str(error)) from error
    except RunError as error:
        raise TrainingError(str(error)) from error
    except (ServerDied, tinker.APIConnectionError) as error:
        raise BackendGone(f"{error}\nWhat was done is kept: behavior_if_log_dir_exists=resume goes on") from error
    except tinker.TinkerError as error:
        if "not finite" in str(error):  # said by our own server before a loss is told
            raise LossNotFinite("what the student computes") from error
        raise TrainingError(f"the server refused: {error}") from error


async def _run(config: Config, console: Console) -> Path:
    renderer = config.model.renderer_name or default_renderer(config.student)
    of_tools = [text] if (text := find_toolchain().warning()) else []
    for text in (*warnings(config), *warnings_for(config.student, renderer, config.episode.max_tokens), *of_tools):
        console.print(f"warning: {text}", style="yellow", highlight=False, markup=False, soft_wrap=True)
    sets, for_exam = problem_sets(config), exam_sets(config)
    async with AsyncExitStack() as stack:
        run = stack.enter_context(
            RunWriter.create(
                _log_path(config), to_json(config), if_exists=config.run.behavior_if_log_dir_exists, fixed=FIXED
            )
        )
        _log_to(run, stack)
        run.write_code_diff()
        cache = stack.enter_context(GradeCache(default_cache_path()))
        grader = await stack.enter_async_context(
            Grader(
                weights=config.grading.weights(),
                jobs=config.grading.jobs or None,
                timeout_seconds=config.episode.timeout_seconds,
                cache=cache,
                extraction=Extraction(config.episode.extraction),
            )
        )
        stack.enter_context(live_grader(grader))
        connection = stack.enter_context(_connect(config, run))
        context = await _context(connection, config.student)
        if config.episode.max_tokens >= context:
            raise BadConfig(
                f"max_tokens={config.episode.max_tokens}: a prompt and its answer have {context} tokens in all"
            )
        classroom = open_classroom(config, sets, renderer, grader, context)
        for text in classroom.left_out:
            log.info("%s", text)
        run.write_held_out(held_out(classroom.tests))
        total = config.optim.max_steps or len(classroom.dataset)
        first, checkpoint = first_step(run)
        ensure_steps(total, first)
        console.print(_headline(config, classroom, run, total, first), highlight=False, markup=False, soft_wrap=True)
        trackers = Trackers(config, run.path.name, to_json(config))
        stack.callback(trackers.close)
        display = stack.enter_context(Display(console, total, first))
        loop = Loop(
            config=config,
            signal=_signal(config),
            classroom=classroom,
            student=await _student(connection, config, checkpoint),
            teacher=await _teacher(connection, config),
            run=run,
            display=display,
            trackers=trackers,
            total=total,
            best=checkpoint.extra.get("best") if checkpoint else None,
            tested_teacher=await _tested_teacher(connection, config),
            exam=Exam(config, classroom, for_exam, run.path) if for_exam else None,
        )
        await while_alive(connection.check, loop.train(first))
        return run.path


def _log_path(config: Config) -> Path:
    if config.run.log_path:
        return Path(config.run.log_path).expanduser()
    student = re.sub(r"[^A-Za-z0-9.]+", "-", config.student).strip("-")
    return Path("runs") / f"{config.mode}-{student}-{time.strftime('%Y%m%d-%H%M%S')}"


def _log_to(run: RunWriter, stack: AsyncExitStack) -> None:
    handler = run.logging_handler()
    root = logging.getLogger()
    root.addHandler(handler)
    stack.callback(root.removeHandler, handler)
    log.setLevel(logging.INFO)


def _connect(config: Config, run: RunWriter) -> Connection:
    models = [name for name in dict.fromkeys((config.student, config.teacher)) if name]
    return connect(config.model.backend, models=models, state=run.path / "checkpoints")


async def _context(connection: Connection, model: str) -> int:
    """The most tokens that a prompt and its answer may have together."""
    capabilities = await connection.service.get_server_capabilities_async()
    known = {one.model_name: one for one in capabilities.supported_models}
    if known and model not in known:
        names = ", ".join(sorted(str(name) for name in known))
        raise BadConfig(f"the server has no model {model}; it has {names}")
    return int(getattr(known.get(model), "max_context_length", None) or 32_768)


async def _student(connection: Connection, config: Config, checkpoint: Checkpoint | None) -> Student:
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


async def _teacher(connection: Connection, config: Config) -> Teacher | None:
    if config.mode != "distill" or not (config.objective.kl_penalty_coef or config.objective.forward_kl_coef):
        return None
    client = await _teacher_client(connection, config)
    return Teacher(client, config.teacher, config.objective.forward_kl_topk if config.objective.forward_kl_coef else 0)


async def _tested_teacher(connection: Connection, config: Config) -> tinker.SamplingClient | None:
    """Its level can be asked for whether it advises or not."""
    if config.mode != "distill" or not config.eval.teacher:
        return None
    return await _teacher_client(connection, config)


async def _teacher_client(connection: Connection, config: Config) -> tinker.SamplingClient:
    names = (config.student, config.teacher)
    check_same_vocabulary(tokenizer_for(names[0]), tokenizer_for(names[1]), names)
    return await connection.service.create_sampling_client_async(base_model=config.teacher)


def _signal(config: Config) -> Signal:
    if config.mode != "distill":
        return Signal(reward_coef=config.objective.reward_coef)
    return Signal(
        config.objective.kl_penalty_coef,
        config.objective.kl_discount_factor,
        config.objective.forward_kl_coef,
        config.objective.reward_coef,
        config.grading.weights().total if config.objective.reward_weighted else 0.0,
        config.objective.prefix_trust,
        config.objective.one_pass
        and config.optim.num_substeps == 1
        and config.objective.loss_fn == "importance_sampling",
    )


def _headline(config: Config, classroom: Classroom, run: RunWriter, total: int, first: int) -> str:
    taught = f" <- {config.teacher}" if config.teacher else ""
    resumed = f", resuming at step {first}" if first else ""
    asked, tested = len(classroom.dataset.problems), sum(map(len, classroom.tests.values()))
    return (
        f"{config.mode}: {config.student}{taught} on {config.model.backend}; {asked} problems, {tested} held out; "
        f"{total} steps{resumed}; {run.path}"
    )
