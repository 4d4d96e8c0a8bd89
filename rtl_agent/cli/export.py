"""`rtl-agent export`: problems for other frameworks."""

import json
from pathlib import Path
from typing import Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.console import Categories, Difficulties, Families, Ids, Kinds, Side, SkipBad, Source, Timeout
from rtl_agent.cli.new_workspace import CannotWrite, ensure_new, write_files
from rtl_agent.envs.episode_config import EpisodeConfig, Level
from rtl_agent.envs.hosted import first_messages, playable
from rtl_agent.grading import Outcome, parse_weights
from rtl_agent.integrations.harbor import LEVELS, HarborOptions, NotHandedOver, judge, task_files, why_not
from rtl_agent.problems import NEEDS_IN_WORDS, Needs, Selection
from rtl_agent.prompts import system_names

app = typer.Typer(no_args_is_help=True, help="Write problems for other frameworks.", rich_markup_mode=None)
_DEFAULTS = HarborOptions()


def _ensure_reward(text: str) -> str:
    try:
        parse_weights(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return text


def _ensure_level(level: Level) -> Level:
    if level not in LEVELS:
        raise typer.BadParameter(
            f"a task for Harbor has the level {' or '.join(LEVELS)}: nothing there answers an agent"
        )
    return level


def _ensure_system(name: str) -> str:
    if name not in system_names():
        raise typer.BadParameter(f"{name!r} is not {', '.join(system_names())}")
    return name


def _ensure_image(image: str) -> str:
    if not image or any(char.isspace() or not char.isprintable() for char in image):
        raise typer.BadParameter(f"{image!r} is not the name of an image")
    return image


Reward = Annotated[
    str,
    typer.Option(
        "--reward", metavar="WEIGHTS", callback=_ensure_reward, help="What `reward` is: a preset, or weights."
    ),
]


@app.command("harbor", short_help="Write Harbor tasks, with a separate verifier that holds the grader.")
def harbor(
    source: Source,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new or empty directory; each task is one in it.")],
    ids: Ids = None,
    families: Families = None,
    categories: Categories = None,
    difficulties: Difficulties = None,
    kinds: Kinds = None,
    split: Side = None,
    skip_bad: SkipBad = False,
    level: Annotated[
        Level, typer.Option("--level", callback=_ensure_level, help="What an agent may know: spec or own-tests.")
    ] = _DEFAULTS.level,
    reward: Reward = _DEFAULTS.reward,
    system: Annotated[
        str,
        typer.Option("--system", callback=_ensure_system, help="The system message that instructions begin with."),
    ] = _DEFAULTS.system,
    agent_image: Annotated[
        str, typer.Option(metavar="IMAGE", callback=_ensure_image, help="What the agent's image is built from.")
    ] = _DEFAULTS.agent_image,
    grader_image: Annotated[
        str,
        typer.Option(metavar="IMAGE", callback=_ensure_image, help="An image that has rtl-agent: the verifier's."),
    ] = _DEFAULTS.grader_image,
    agent_seconds: Annotated[
        float, typer.Option(metavar="SECONDS", min=1.0, help="How long an agent may work.")
    ] = _DEFAULTS.agent_seconds,
    timeout: Timeout = _DEFAULTS.timeout_seconds,
) -> None:
    """Write problems as tasks of Harbor: `harbor run -p OUT -a AGENT -m MODEL`.

    An agent's image has the given files; the tests, the grader and the reference are in other directories.
    """
    selection = Selection(
        ids=ids or (),
        families=families or (),
        categories=categories or (),
        difficulties=difficulties or (),
        kinds=kinds or (),
        split=split,
    )
    options = HarborOptions(level, reward, system, agent_image, grader_image, agent_seconds, timeout)
    ensure_new(out)
    written = 0
    for problem in console.chosen(source, selection, skip_bad=skip_bad):
        reason = why_not(problem)
        if problem.needs is not Needs.OPEN_TOOLS:
            reason = f"it needs {NEEDS_IN_WORDS[problem.needs]}"
        if reason:
            console.say_warning(f"left out {problem.id}: {reason}")
            continue
        write_files(out / problem.id, task_files(problem, options))
        written += 1
    if not written:
        raise CannotWrite(f"{source} has no problem that can be a task of Harbor")
    console.out.print(
        f"{out}: {written} task{'s' if written != 1 else ''}", markup=False, highlight=False, soft_wrap=True
    )


@app.command("nemo-gym", short_help="Write the data of NeMo Gym's resources server.")
def nemo_gym(
    source: Source,
    out: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="A new file: one problem in each line.")],
    system: Annotated[
        str, typer.Option("--system", callback=_ensure_system, help="The system message.")
    ] = _DEFAULTS.system,
) -> None:
    """Write problems as lines of NeMo Gym's data: what a model is asked, and the id that the server knows it by."""
    config = EpisodeConfig(system=system)
    lines = []
    for problem in playable(source, config):
        asked = [{"role": message.role, "content": message.content} for message in first_messages(problem, config)]
        about = {"category": problem.category, "difficulty": problem.difficulty, "family": problem.family}
        lines.append(json.dumps({"responses_create_params": {"input": asked}, "problem_id": problem.id, **about}))
    try:
        with out.open("x", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise CannotWrite(f"{out}: {error.strerror}; name a file that does not exist yet") from error
    console.out.print(f"{out}: {len(lines)} problems", markup=False, highlight=False, soft_wrap=True)


@app.command("harbor-reward", hidden=True)
def harbor_reward(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM.jsonl")],
    code: Annotated[Path, typer.Argument(metavar="CODE")],
    logs: Annotated[Path, typer.Argument(metavar="LOGS")],
    reward: Reward = _DEFAULTS.reward,
    timeout: Timeout = _DEFAULTS.timeout_seconds,
) -> None:
    """What a task's tests/test.sh runs in the verifier: grade a workspace, write reward.json unless it is an error."""
    try:
        grade = judge(problem, code, logs, reward=reward, timeout_seconds=timeout)
    except NotHandedOver as error:
        console.say_error(str(error))
        raise typer.Exit(console.OUR_FAULT) from error
    console.out.print(
        f"{grade.problem_id}: {grade.outcome}, reward {grade.reward.total:g}", markup=False, highlight=False
    )
    for reason in grade.reasons:
        console.out.print(console.harmless(f"* {reason}"), markup=False, highlight=False, soft_wrap=True)
    if grade.outcome is Outcome.ERROR:
        raise typer.Exit(console.OUR_FAULT)
