"""--model as a person writes it -> a model that can be asked: by tokens over tinker's API, or by text."""

import hashlib
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tinker

from rtl_agent.backends.adapters import Adapter, find_adapter
from rtl_agent.backends.connect import EMBEDDED, CannotConnect, Connection, connect
from rtl_agent.backends.engine.contract import EngineError
from rtl_agent.backends.engine.registry import choose_engine
from rtl_agent.backends.models.registry import OWN, model_directory
from rtl_agent.backends.server.embedded import ServerDied
from rtl_agent.envs.dialects.registry import UnknownDialect
from rtl_agent.envs.episode_config import AGENTIC, SINGLE, EpisodeConfig
from rtl_agent.envs.renderers import UnknownRenderer, default_renderer, renderer_for
from rtl_agent.envs.tokenizers import NoTokenizer, tokenizer_for
from rtl_agent.evaluation.endpoint import Endpoint
from rtl_agent.evaluation.settings import EvaluationError, ModelGone
from rtl_agent.options import options_of
from rtl_agent.runs import Checkpoint, RunRecord, read_run
from rtl_agent.runs.record import looks_like_run

SAVED = "tinker://"
KEY_VARIABLE = "OPENAI_API_KEY"
CONTEXT_UNLESS_TOLD = 32_768
KEY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class ModelSpec:
    """What the person said. Empty fields are filled in from what the model is."""

    model: str
    backend: str = ""
    base_url: str = ""
    api_key_env: str = ""
    checkpoint: str = ""  # of a run directory: best, last, or a name
    renderer: str = ""
    engine: str = ""  # of an embedded server


@dataclass(frozen=True)
class TokenModel:
    """Asked by tokens. `base` names the tokenizer."""

    name: str
    weights: str
    backend: str
    base: str
    renderer: str
    context: int
    client: tinker.SamplingClient = field(repr=False)
    connection: Connection = field(repr=False)


@dataclass(frozen=True)
class TextModel:
    """Asked by messages; what becomes of them is the endpoint's business."""

    name: str
    endpoint: Endpoint = field(repr=False)
    weights: str = ""  # nobody outside knows
    renderer: str = ""

    @property
    def backend(self) -> str:
        return f"openai {self.endpoint.shown_url}"

    @property
    def base(self) -> str:
        return self.name


Model = TokenModel | TextModel


def episode_config(spec: ModelSpec, **given: Any) -> EpisodeConfig:
    """What was given, and for the rest what the run asked with where the model is a run, else the defaults."""
    asked = {}
    if looks_like_run(Path(spec.model)):
        config = read_run(spec.model).config
        flat = {name: config.get(known.alias or name) for name, known in options_of(EpisodeConfig)}
        asked = {name: value for name, value in flat.items() if value is not None}
        if asked.get("kind", SINGLE) != AGENTIC:
            asked.pop("level", None)  # earlier versions kept an agent's level whatever was played
    return EpisodeConfig(**(asked | {name: value for name, value in given.items() if value is not None}))


@asynccontextmanager
async def open_model(spec: ModelSpec) -> AsyncIterator[Model]:
    """The model, until the block ends. EvaluationError says why there is none."""
    if spec.base_url:
        endpoint = endpoint_of(spec)
        try:
            yield TextModel(spec.model, endpoint)
        finally:
            await endpoint.aclose()
        return
    try:
        place = _place(spec)
        models = [place.base] if place.base else []
        with connect(place.backend, models=models, state=place.state, engine=_engine(spec, place)) as connection:
            yield await _token_model(spec, connection, place)
    except (CannotConnect, EngineError, NoTokenizer, UnknownDialect, UnknownRenderer) as error:
        raise EvaluationError(str(error)) from error
    except (ServerDied, tinker.APIConnectionError) as error:
        raise ModelGone(f"{error}\nGraded answers are kept: the same command resumes") from error


def _engine(spec: ModelSpec, place: "Place") -> str | None:
    """What was said, else what the run had: its checkpoints are that engine's. A wrong name is said before a server is
    started."""
    of_run = place.run.option("engine") if place.run else None
    wanted = spec.engine or str(of_run or "") or None
    if place.backend == EMBEDDED and place.base:
        choose_engine(place.base, wanted)
    return wanted


@dataclass(frozen=True)
class Place:
    """Where the weights are."""

    name: str
    backend: str
    base: str = ""  # "" where only the server knows
    path: str = ""  # of saved weights
    state: Path | None = None
    run: RunRecord | None = None
    adapter: Adapter | None = None


def _place(spec: ModelSpec) -> Place:
    if looks_like_run(Path(spec.model)):
        return _of_run(spec, read_run(spec.model))
    if spec.checkpoint:
        raise EvaluationError(f"--checkpoint chooses from a run directory, and {spec.model} is not one")
    backend = spec.backend or EMBEDDED
    if backend == EMBEDDED and (adapter := find_adapter(spec.model)):
        return Place(spec.model, backend, adapter.base, adapter=adapter)
    if not spec.model.startswith(SAVED):
        folder = Path(spec.model)
        base = str(folder.absolute()) if backend == EMBEDDED and folder.is_dir() else spec.model
        return Place(spec.model, backend, base=base)
    if backend == EMBEDDED:
        raise EvaluationError(
            f"{spec.model} belongs to a run on this machine: give the run directory as --model (with --checkpoint), "
            "or --backend tinker or http://... where a server knows it"
        )
    return Place(spec.model, backend, path=spec.model)


def _of_run(spec: ModelSpec, run: RunRecord) -> Place:
    checkpoint = _chosen(spec, run)
    base = str(run.config.get("student") or run.config.get("model_name") or "")
    backend = spec.backend or str(run.config.get("backend") or EMBEDDED)
    name = f"{run.path.resolve().name}@{checkpoint.name}"
    return Place(name, backend, base, checkpoint.sampler_path or "", run.path / "checkpoints", run)


def _chosen(spec: ModelSpec, run: RunRecord) -> Checkpoint:
    """The best by the run's own evaluations, or the last where none was found best."""
    usable = [one for one in run.checkpoints if one.sampler_path]
    if not usable:
        raise EvaluationError(f"{run.path} has no checkpoint to sample from yet")
    best = [one for one in usable if one.best]
    if spec.checkpoint in ("", "best") and best:
        return best[-1]
    if spec.checkpoint in ("", "last"):
        return usable[-1]
    named = [one for one in usable if one.name == spec.checkpoint]
    if not named:
        names = ", ".join(dict.fromkeys(one.name for one in usable))
        raise EvaluationError(f"{run.path} has no checkpoint {spec.checkpoint!r}: there are {names}, and `last`")
    return named[-1]


async def _token_model(spec: ModelSpec, connection: Connection, place: Place) -> TokenModel:
    service = connection.service
    if place.adapter:
        client = await service.create_sampling_client_async(model_path=connection.adopt(place.adapter))
        base, weights = place.base, place.adapter.digest
    elif place.path:
        client = await service.create_sampling_client_async(model_path=place.path)
        base = place.base or await client.get_base_model_async()
        weights = place.path
    else:
        base = place.base
        await _check_offered(service, base)
        client = await service.create_sampling_client_async(base_model=base)
        weights = _weights(base) if place.backend == EMBEDDED else ""
    config = place.run.config if place.run else {}
    renderer = spec.renderer or str(config.get("renderer_name") or "") or default_renderer(base)
    renderer_for(renderer, tokenizer_for(base))  # said now rather than at the first problem
    context = await _context(service, base)
    return TokenModel(place.name, weights, place.backend, base, renderer, context, client, connection)


async def _offered(service: tinker.ServiceClient) -> dict[str, int]:
    """Models of the server, and the most tokens that a prompt and its answer may have together."""
    capabilities = await service.get_server_capabilities_async()
    return {
        str(one.model_name): int(getattr(one, "max_context_length", None) or CONTEXT_UNLESS_TOLD)
        for one in capabilities.supported_models
    }


async def _check_offered(service: tinker.ServiceClient, base: str) -> None:
    offered = await _offered(service)
    if offered and base not in offered:
        raise EvaluationError(f"the server has no model {base}; it has {', '.join(sorted(offered))}")


async def _context(service: tinker.ServiceClient, base: str) -> int:
    return (await _offered(service)).get(base, CONTEXT_UNLESS_TOLD)


def _weights(base: str) -> str:
    """Our own models have a directory named after their content; of others, sizes and times must do."""
    directory = model_directory(base)
    if base in OWN:
        return directory.name
    found = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in directory.glob("*.safetensors")]
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()[:16]


def endpoint_of(spec: ModelSpec) -> Endpoint:
    """The endpoint that a user names, with its key."""
    if spec.backend or spec.checkpoint or spec.renderer:
        raise EvaluationError(
            "--base-url names an endpoint that renders by itself: leave out --backend, --checkpoint and --renderer"
        )
    if spec.api_key_env and not KEY_NAME.fullmatch(spec.api_key_env):
        raise EvaluationError(
            "--api-key-env takes the NAME of an environment variable, not a key: a key on a command line can be read "
            "by others"
        )
    key = os.environ.get(spec.api_key_env or KEY_VARIABLE, "").strip()
    if spec.api_key_env and not key:
        raise EvaluationError(
            f"--api-key-env {spec.api_key_env}: there is no such environment variable, or it is empty"
        )
    return Endpoint(spec.base_url, spec.model, key)
