"""`rtl-agent serve`: a Tinker- and OpenAI-compatible server, and the conformance checks for any Tinker server."""

import asyncio
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.web.rules import is_loopback, url_of

if TYPE_CHECKING:
    from rtl_agent.backends.conformance import CheckResult
    from rtl_agent.backends.connect import Connection
    from rtl_agent.backends.engine.registry import EngineOptions

KEY_VARIABLE = "TINKER_API_KEY"


def serve(
    model: Annotated[
        str | None,
        typer.Argument(
            help="A model directory in Hugging Face layout, the name of one in the local Hugging Face cache, or one of "
            "our own: rtl-agent/student, rtl-agent/teacher."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Any other than loopback can be reached from other machines.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 8910,
    device: Annotated[str, typer.Option(help="Where to compute: cpu or cuda.")] = "cpu",
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="CPU threads of torch.", show_default="1 up to 50M parameters, else all cores"),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(help="The engine that runs the model: qwen3 or transformers.", show_default="the first that can"),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(help="float32 or bfloat16.", show_default="bfloat16 for half-precision weights above 200M"),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(min=0.1, help="GB that training may take beside the weights, at a time.", show_default="5"),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="Directory for checkpoints.", show_default="~/.local/state/rtl-agent/serve"),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            envvar="RTL_AGENT_SERVE_KEY",
            help="API key that clients must send; it starts with tml-.",
            show_default="a random one",
        ),
    ] = None,
    self_check: Annotated[
        str | None,
        typer.Option(
            "--self-check", metavar="URL", help="Run the conformance checks against the server at URL and exit."
        ),
    ] = None,
) -> None:
    """Serve MODEL over the Tinker API and OpenAI's API.

    Tinker scripts use it with base_url, OpenAI clients with base_url/v1.
    """
    if key is not None and not key.startswith("tml-"):
        raise typer.BadParameter("a key must start with tml-: the Tinker SDK refuses any other", param_hint="--key")
    try:
        import tinker  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        console.say_error(f"{error}. Serving needs the train extra: pip install 'rtl-agent[train]'")
        raise typer.Exit(console.OUR_FAULT) from error
    if self_check is not None:
        _check(self_check, key, model)
    elif model is None:
        raise typer.BadParameter(
            "name a model to serve: a directory, rtl-agent/student or rtl-agent/teacher", param_hint="MODEL"
        )
    else:
        from rtl_agent.backends.engine.registry import EngineOptions

        options = EngineOptions(device, threads, dtype, memory)
        _serve(model, host, port, options, engine, state or _default_state(), key)


def _default_state() -> Path:
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "rtl-agent" / "serve"


def _serve(
    model: str, host: str, port: int, options: "EngineOptions", wanted: str | None, state: Path, key: str | None
) -> None:
    from rtl_agent.backends.engine.contract import EngineError
    from rtl_agent.backends.engine.registry import EngineByModel
    from rtl_agent.backends.server.app import serve as run
    from rtl_agent.backends.server.process import new_key

    name = str(Path(model).absolute()) if Path(model).is_dir() else model
    used = key or new_key()

    def ready(bound: int) -> None:
        _say_ready(host, bound, used, name, engine.engine_name(name), state)

    try:
        engine = EngineByModel([name], options, wanted)
        engine.base_snapshot(name).close()
        asyncio.run(run(engine, key=used, state=state, host=host, port=port, ready=ready))
    except EngineError as error:
        console.say_error(str(error))
        raise typer.Exit(console.BAD_INPUT) from error
    except OSError as error:
        console.say_error(f"cannot serve on {host}:{port} with checkpoints in {state}: {error}")
        raise typer.Exit(console.BAD_INPUT) from error


def _say_ready(host: str, port: int, key: str, model: str, engine: str, state: Path) -> None:
    url = url_of(host, port)
    if not is_loopback(host):
        console.say_warning(
            f"{host} can be reached from other machines. Anyone with the key can read and write models here, and HTTP "
            "without TLS shows the key to everyone on the network in between."
        )
    lines = (
        f"base_url {url}",
        f"key      {key}",
        f"model    {model} (engine {engine})",
        f"state    {state}",
        f"openai   {url}/v1",
        "",
        f"{KEY_VARIABLE}={key} TINKER_BASE_URL={url} python your_script.py",
        f"{KEY_VARIABLE}={key} rtl-agent serve --self-check {url}",
    )
    for line in lines:
        typer.echo(line)


def _check(url: str, key: str | None, model: str | None) -> None:
    from rtl_agent.backends.conformance import Subject, run_self_check
    from rtl_agent.backends.connect import CannotConnect, connect

    try:
        connection = connect(url, api_key=key)
        found = model or _first_model(url, connection)
    except CannotConnect as error:
        console.say_error(str(error))
        raise typer.Exit(console.BAD_INPUT) from error
    logging.getLogger("tinker").setLevel(logging.CRITICAL)  # the SDK logs every refusal that a check provokes
    subject = Subject(connection.service, found, connection.base_url, connection.api_key)
    results = asyncio.run(run_self_check(subject, progress=_say_result))
    failed = sum(not result.passed for result in results)
    typer.echo(f"{len(results) - failed} of {len(results)} checks passed on {found} at {url}")
    if failed:
        raise typer.Exit(console.SOME_FAILED)


def _first_model(url: str, connection: "Connection") -> str:
    from rtl_agent.backends.connect import CannotConnect

    models = connection.service.get_server_capabilities().supported_models
    if not models or not models[0].model_name:
        raise CannotConnect(f"{url} lists no model: name the model to check as MODEL")
    return models[0].model_name


def _say_result(result: "CheckResult") -> None:
    mark = "ok  " if result.passed else "FAIL"
    typer.echo(f"{mark} {result.name} ({result.seconds:.1f} s): {result.message or result.description}")
