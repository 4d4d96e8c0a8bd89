"""Start a run: check, connect, resume or begin, train. Whatever goes wrong ends in a sentence.

result = train(Config(mode="rl", optim=OptimConfig(max_steps=20)))
print(result.path, result.steps)
"""

import asyncio
import logging
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tinker
from rich.console import Console

from rtl_agent.audit.overlap import warning as overlap_warning
from rtl_agent.backends.connect import EMBEDDED, CannotConnect, connect, while_alive
from rtl_agent.backends.server.embedded import ServerDied
from rtl_agent.difficulty import PassRates, default_pass_rates_path, difficulties
from rtl_agent.envs.dialects.registry import UnknownDialect
from rtl_agent.envs.env import live_grader
from rtl_agent.envs.renderers import UnknownRenderer, default_renderer, warnings_for
from rtl_agent.envs.tokenizers import NoTokenizer
from rtl_agent.grading import Extraction, GradeCache, Grader, default_cache_path
from rtl_agent.grading.executors import LOCAL
from rtl_agent.runs import RolloutFiles, RunError, RunRecord, RunWriter, read_run
from rtl_agent.runs.directory import is_run
from rtl_agent.sandbox import choose_sandbox, sandbox_warning, takes_images
from rtl_agent.teachers.patience import ServerGone
from rtl_agent.teachers.scorer import ScoringError, Unreachable
from rtl_agent.toolchain import find_toolchain
from rtl_agent.training.config import FIXED, Config, to_json
from rtl_agent.training.curriculum import Curriculum, outcomes_of, start_record
from rtl_agent.training.errors import BackendGone, BadConfig, LossNotFinite, TrainingError
from rtl_agent.training.evaluate import Exam, held_out
from rtl_agent.training.interrupt import Interrupted, Stop, listening
from rtl_agent.training.loop import Loop, ensure_steps, first_step
from rtl_agent.training.models import (
    alignment_lines,
    check_embedded_models,
    context_length,
    evaluated_teacher,
    model_names,
    open_advisors,
    open_student,
)
from rtl_agent.training.monitor import Display, Trackers
from rtl_agent.training.objective import Objective
from rtl_agent.training.plan import resume_command, run_directory, warnings
from rtl_agent.training.preflight import Preflight, check_contexts, check_teachers
from rtl_agent.training.spending import Spending
from rtl_agent.training.tasks import ProblemSets, TrainingTasks, exam_sets, open_tasks, problem_sets, trust_filter
from rtl_agent.training.teachers import open_elsewhere, open_teachers

log = logging.getLogger("rtl_agent.training")


@dataclass(frozen=True)
class TrainResult:
    """A finished run: its directory, and what it kept there."""

    path: Path  # the run directory
    steps: int  # steps done in all
    resumed_at: int = 0  # the step at which this start resumed; 0: it was new
    limit: str = ""  # the limit of the budget that ended it before its last step

    @property
    def record(self) -> RunRecord:
        """What the run directory holds: config, metrics, checkpoints, rollouts."""
        return read_run(self.path)

    @property
    def metrics(self) -> Mapping[str, Any]:
        """The last line of metrics."""
        lines = self.record.metrics
        return lines[-1] if lines else {}

    @property
    def checkpoint(self) -> str:
        """The tinker:// path of the last weights, to sample from."""
        return next((one.sampler_path or "" for one in reversed(self.record.checkpoints)), "")


def train(config: Config, *, console: Console | None = None) -> TrainResult:
    """Train, and return when the run has ended. Ctrl-C saves a checkpoint first.

    In a notebook, whose thread already has an event loop, the run gets a thread of its own.

    Args:
        config: the options of the run; `configure` makes them from flat names.
        console: where progress is shown; None for stderr.

    Raises:
        TrainingError: what went wrong, in a sentence.
        Interrupted: the run was stopped; the message says how to resume it.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import rtl_agent as ra
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     config = ra.configure(
        ...         "rl", max_steps=1, batch_size=1, group_size=2, eval_every=0, log_path=str(Path(folder) / "run")
        ...     )
        ...     result = ra.train(config)
        ...     rewards = [episode.reward for episode in result.record.rollouts()]
        >>> result.steps, len(rewards)
        (1, 2)
    """
    if not _has_running_loop():
        return asyncio.run(_train_until_signal(config, console))
    found: list[TrainResult] = []
    failed: list[BaseException] = []

    def in_thread() -> None:
        try:
            found.append(asyncio.run(train_async(config, console=console)))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=in_thread, name="training", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


def start(config: Config, console: Console) -> Path:
    """`train`, for the run directory alone."""
    return train(config, console=console).path


async def train_async(config: Config, *, console: Console | None = None, stop: Stop | None = None) -> TrainResult:
    """`train` for programs with an event loop of their own.

    Args:
        config: the options of the run.
        console: where progress is shown; None for stderr.
        stop: `stop.request()` stops the run as Ctrl-C does.
    """
    path = run_directory(config)
    try:
        return await _train(config, path, console or Console(stderr=True), stop or Stop())
    except (CannotConnect, NoTokenizer, UnknownDialect, UnknownRenderer) as error:
        raise BadConfig(str(error)) from error
    except RunError as error:
        raise TrainingError(str(error)) from error
    except (ServerDied, tinker.APIConnectionError) as error:
        raise BackendGone(f"{error}\nWhat was done is kept. Resume with: {resume_command(path)}") from error
    except ScoringError as error:
        kind = BackendGone if isinstance(error, ServerGone | Unreachable) else TrainingError
        raise kind(f"{error}\nWhat was done is kept. Resume with: {resume_command(path)}") from error
    except tinker.TinkerError as error:
        if "not finite" in str(error):  # said by our own server before a loss is told
            raise LossNotFinite("the student's output") from error
        raise TrainingError(f"the server refused: {error}") from error


async def _train_until_signal(config: Config, console: Console | None) -> TrainResult:
    """Until training begins, Ctrl-C is a KeyboardInterrupt: asyncio's own handler waits for a start that blocks."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return await train_async(config, console=console, stop=Stop(on_signals=True))


async def _check_executor(config: Config, sets: ProblemSets) -> None:
    executor, seconds = config.grading.executor, config.episode.timeout_seconds
    async with Grader(executor=executor, timeout_seconds=seconds) as grader:
        await grader.tools([*sets.train, *(one for problems in sets.tests.values() for one in problems)])


async def _train(config: Config, path: Path, console: Console, stop: Stop) -> TrainResult:
    if config.model.backend == EMBEDDED:
        check_embedded_models(config)  # before the renderer is guessed from a name that may be mistyped
    renderer = config.model.renderer_name or default_renderer(config.student)
    is_local = config.grading.executor == LOCAL
    here = (find_toolchain().warning(), sandbox_warning(config.grading.sandbox)) if is_local else ()
    of_tools = [text for text in here if text]
    for text in (*warnings(config), *warnings_for(config.student, renderer, config.episode.max_tokens), *of_tools):
        console.print(f"warning: {text}", style="yellow", highlight=False, markup=False, soft_wrap=True)
    sets, for_exam = problem_sets(config), exam_sets(config)
    if text := overlap_warning(sets.train, [one for problems in sets.tests.values() for one in problems]):
        console.print(f"warning: {text}", style="yellow", highlight=False, markup=False, soft_wrap=True)
    async with AsyncExitStack() as stack:
        # A wrong name, a wrong key or a silent host is found before anything is written.
        if config.model.backend != EMBEDDED:
            connection = stack.enter_context(connect(config.model.backend))
            context = await context_length(connection, config)
        say = _sayer(console)
        if not is_local:
            await _check_executor(config, sets)
        elsewhere = await open_elsewhere(config, stack, say)
        await check_teachers(config, elsewhere.teachers, say)
        begun = stack.enter_context(_run_of(config, path))
        run = begun.run
        _log_to(run, stack)
        run.write_code_diff()
        cache = stack.enter_context(GradeCache(default_cache_path()))
        choose_sandbox(
            config.grading.sandbox, config.grading.oss_sim_image if takes_images(config.grading.sandbox) else ""
        )
        grader = await stack.enter_async_context(
            Grader(
                weights=config.grading.weights(),
                jobs=config.grading.jobs or None,
                timeout_seconds=config.episode.timeout_seconds,
                executor=config.grading.executor,
                cache=cache,
                extraction=Extraction(config.episode.extraction),
            )
        )
        stack.enter_context(live_grader(grader))
        if config.model.backend == EMBEDDED:
            state = run.path / "checkpoints"
            connection = stack.enter_context(
                connect(EMBEDDED, models=model_names(config), state=state, engine=config.model.engine or None)
            )
            context = await context_length(connection, config)
        if config.episode.max_tokens >= context:
            raise BadConfig(
                f"max_tokens={config.episode.max_tokens}: a prompt and its answer have {context} tokens in all"
            )
        tasks = open_tasks(config, sets, renderer, grader, context)
        for text in tasks.left_out:
            log.info("%s", text)
        run.write_held_out(held_out(tasks.tests))
        run.write_trust(trust_filter(config).record(tasks.all_problems))
        total = config.optim.max_steps or len(tasks.sampler)
        first, checkpoint = first_step(run)
        ensure_steps(total, first)
        pass_rates = stack.enter_context(PassRates(default_pass_rates_path()))
        curriculum = _curriculum(config, tasks, run, pass_rates)
        tasks = replace(tasks, sampler=curriculum or tasks.sampler)
        console.print(_headline(tasks, total, first), highlight=False, markup=False, soft_wrap=True)
        teachers = await open_teachers(config, connection, elsewhere)
        if teachers:
            await check_teachers(config, [one for one in teachers.all if one not in elsewhere.teachers], say)
            for line in alignment_lines(config, teachers):
                say(line)
            teachers.check_rules(tasks.sampler.problems)
            check_contexts(config, tasks, teachers)
        spending = Spending.of(config, run.path)
        trackers = Trackers(config, run.path.name, to_json(config))
        stack.callback(trackers.close)
        loop = Loop(
            config=config,
            objective=Objective.of(config),
            tasks=tasks,
            student=await open_student(connection, config, checkpoint, spending),
            advisor_of=await open_advisors(connection, config, tasks, teachers, spending),
            run=run,
            spending=spending,
            display=stack.enter_context(Display(console, total, first)),
            trackers=trackers,
            total=total,
            best=checkpoint.extra.get("best") if checkpoint else None,
            tested_teacher=evaluated_teacher(config, teachers),
            preflight=Preflight(config, tasks, teachers, run.path, say, spending) if teachers else None,
            exam=Exam(config, tasks, for_exam, run.path) if for_exam else None,
            curriculum=curriculum,
            pass_rates=pass_rates,
            stop=stop,
            limit=spending.reached() if first < total else "",
        )
        begun.keep = True
        try:
            with listening(stop):
                await while_alive(elsewhere.with_student(connection).check, loop.train(first))
        except Interrupted:
            last = run.last_checkpoint
            kept = f"Resume at step {last.step + 1} with:" if last else "There is no checkpoint yet; begin again with:"
            raise Interrupted(f"stopped after {loop.done} of {total} steps. {kept} {resume_command(path)}") from None
        if loop.limit and loop.done < total:
            how = f"with a higher limit: {resume_command(path)} {loop.limit.partition('=')[0]}=..."
            say(f"ended after {loop.done} of {total} steps by {loop.limit}. Resume {how}")
        return TrainResult(run.path, loop.done, first, loop.limit)


def _curriculum(config: Config, tasks: TrainingTasks, run: RunWriter, pass_rates: PassRates) -> Curriculum | None:
    """As it stands before the run's next step; what other runs have found meanwhile does not count."""
    options, sampler = config.curriculum, tasks.sampler
    if options.kind == "none":
        return None
    model = config.starts_from
    start = run.curriculum_start(
        lambda: start_record(model, *difficulties(sampler.problems, pass_rates, model=model, untrained=True))
    )
    found = Curriculum.begin(
        options, sampler.problems, sampler.batch_size, config.run.seed, length=len(sampler), start=start
    )
    for line in run.curriculum_lines:
        found.learn(line["step"], outcomes_of(line))
    return found


def _sayer(console: Console) -> Callable[[str], None]:
    """To the person, and to the run's log once it has one."""

    def say(text: str) -> None:
        style = "yellow" if text.startswith("warning") else None
        console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)
        log.info("%s", text)

    return say


@dataclass
class _Begun:
    """A run's directory from its opening on. Until `keep` is set, a new one goes again if the start fails."""

    run: RunWriter
    keep: bool = False


@contextmanager
def _run_of(config: Config, path: Path) -> Iterator[_Begun]:
    resumed = is_run(path) and config.run.behavior_if_log_dir_exists != "delete"
    folders = [folder for folder in (path, *path.parents) if not folder.exists()]
    files = RolloutFiles(config.run.pack_rollouts, config.run.rollout_tokens_every)
    wish = config.run.behavior_if_log_dir_exists
    run = RunWriter.create(path, to_json(config), if_exists=wish, fixed=FIXED, rollouts=files)
    begun = _Begun(run)
    with run:
        try:
            yield begun
        except BaseException:
            if not begun.keep and not resumed:
                _remove(path, folders)
            raise


def _remove(path: Path, made: list[Path]) -> None:
    """What is in a new run's directory, and the folders that were made for it."""
    for child in path.iterdir():
        if child.is_dir():
            shutil.rmtree(child, ignore_errors=True)
        else:
            child.unlink(missing_ok=True)
    for folder in made:
        with suppress(OSError):  # another run has come into it meanwhile
            folder.rmdir()


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _log_to(run: RunWriter, stack: AsyncExitStack) -> None:
    handler = run.logging_handler()
    root = logging.getLogger()
    root.addHandler(handler)
    stack.callback(root.removeHandler, handler)
    log.setLevel(logging.INFO)


def _headline(tasks: TrainingTasks, total: int, first: int) -> str:
    """What could not be known before the problems and the checkpoints were read."""
    asked, tested = len(tasks.sampler.problems), sum(map(len, tasks.tests.values()))
    steps = f"resuming at step {first + 1} of {total}" if first else f"{total} {'step' if total == 1 else 'steps'}"
    return f"{asked} {'problem' if asked == 1 else 'problems'} to learn from, {tested} held out; {steps}"
