"""`rtl-agent grade-server`: the grader over HTTP, for trainers and evaluations on other machines."""

import asyncio
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.console import Jobs, OssSimImage, SandboxName, SkipBad, Timeout
from rtl_agent.grading import default_cache_path
from rtl_agent.grading.executors.http_executor import KEY_VARIABLE
from rtl_agent.problems import Needs, Problem, load_problems
from rtl_agent.sandbox import sandbox_warning
from rtl_agent.toolchain import find_toolchain
from rtl_agent.web.rules import is_loopback, url_of

_NEEDED = "serving grades needs the packages aiohttp, pydantic and prometheus-client: pip install 'rtl-agent[service]'"


def grade_server(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROBLEMS...", help=f"What it judges: {console.PROBLEMS_HELP}", show_default="bundled"),
    ] = None,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on. Any other than loopback can be reached from other machines."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 8930,
    key_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"File with the key that clients must send. [default: ${KEY_VARIABLE}; on loopback, one that is made]",
            show_default=False,
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="HOST[:PORT]", help="Another Host header to answer to, such as a proxy's."),
    ] = None,
    accept_problems: Annotated[
        bool, typer.Option("--accept-problems", help="Take problems with harnesses from clients, too.")
    ] = False,
    skip_bad: SkipBad = False,
    jobs: Jobs = None,
    queue: Annotated[int, typer.Option(min=0, metavar="N", help="How many jobs may wait; others get a 429.")] = 256,
    timeout: Timeout = 120.0,
    deadline: Annotated[
        float, typer.Option(metavar="SECONDS", min=1.0, help="How long a request may take, waiting included.")
    ] = 900.0,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="How long jobs may go on after SIGTERM.")
    ] = 60.0,
    max_request: Annotated[int, typer.Option(metavar="MB", min=1, max=1024, help="Largest request.")] = 16,
    cache: Annotated[bool, typer.Option(help="Cache grades, so that the same text is not graded twice.")] = True,
    sandbox: SandboxName = "",
    oss_sim_image: OssSimImage = "",
) -> None:
    """Grade over HTTP: /grade, /problems, /healthz, /metrics, and the API at /openapi.json.

    `Grader(executor="http://HOST:PORT")`, `rtl-agent grade --executor` and training with executor= use it.
    """
    try:
        from rtl_agent.service.app import Key, Settings, serve
        from rtl_agent.service.keys import BadKey, find_key, readable_by_others
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("rtl_agent"):
            raise
        console.say_error(_NEEDED)
        raise typer.Exit(console.BAD_INPUT) from error
    try:
        key, where = find_key(os.environ, key_file, host)
    except BadKey as error:
        console.say_error(str(error))
        raise typer.Exit(console.BAD_INPUT) from error
    if key_file is not None and readable_by_others(key_file):
        console.say_warning(f"other users of this machine can read {key_file}: chmod 600 {key_file}")
    problems = _problems(sources or ["bundled"], skip_bad=skip_bad)
    for warning in (find_toolchain().warning(), sandbox_warning()):
        if warning:
            console.say_warning(warning)
    settings = Settings(
        Key(key),
        host=host,
        port=port,
        names=tuple(names or ()),
        jobs=jobs or os.cpu_count() or 1,
        waiting=queue,
        timeout_seconds=timeout,
        deadline_seconds=deadline,
        grace_seconds=grace,
        most_bytes=max_request << 20,
        accepts_problems=accept_problems,
        cache=default_cache_path() if cache else None,
    )
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")

    def ready(bound: int) -> None:
        if not is_loopback(host):
            console.say_warning(
                f"{host} can be reached from other machines. Anyone with the key can use this grader, and HTTP "
                "without TLS shows the key to everyone on the network in between: put a proxy with TLS before it."
            )
        url = url_of(host, bound)
        shown = (("url", url), ("key", where), ("problems", len(problems)), ("schema", f"{url}/openapi.json"))
        for name, value in shown:
            typer.echo(f"{name:8} {value}")

    try:
        asyncio.run(serve(problems, settings, ready=ready))
    except OSError as error:
        console.say_error(f"cannot listen on {host} port {port}: {error.strerror or error}; give another --port")
        raise typer.Exit(console.BAD_INPUT) from error


def _problems(sources: Sequence[str], *, skip_bad: bool) -> list[Problem]:
    """Those that open tools can judge."""
    found: dict[str, Problem] = {}
    left_out = 0
    for source in sources:
        for problem in load_problems(
            source, skip_bad=skip_bad, on_bad=lambda bad: console.say_warning(f"left out {bad}")
        ):
            if problem.needs is not Needs.OPEN_TOOLS:
                left_out += 1
            elif found.setdefault(problem.id, problem) is not problem:
                raise typer.BadParameter(f"{problem.id} is in two of them", param_hint="PROBLEMS")
    if left_out:
        console.say_warning(f"left out {left_out} problems that need more than open tools")
    if not found:
        raise typer.BadParameter("none of these problems can be judged with open tools", param_hint="PROBLEMS")
    return list(found.values())
