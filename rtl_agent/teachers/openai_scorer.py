"""A model behind an OpenAI-compatible server: what kind of server it is, which model it has, and how it scores.

The server says what it is in its list of models (`owned_by`): vllm, sglang, llamacpp, or rtl-agent. Where something
stands between that hides it, the kind is named: `openai+sglang:http://host:30000/v1`.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from rtl_agent.registry import did_you_mean
from rtl_agent.teachers.scorer import ScoringError
from rtl_agent.teachers.servers.endpoint import Endpoint, NotFound
from rtl_agent.teachers.servers.llamacpp import LlamaCppModel
from rtl_agent.teachers.servers.model import ServedModel
from rtl_agent.teachers.servers.sglang import SglangModel
from rtl_agent.teachers.servers.vllm import CompatibleModel, VllmModel

OPENAI = "openai"
KINDS = ("vllm", "sglang", "llamacpp")
FIRST_ANSWER_SECONDS = 14.0  # that a server has to say which models it serves


def is_openai(spec: str) -> bool:
    """Whether `teacher_backend` names a server of this kind."""
    return spec.startswith((f"{OPENAI}:", f"{OPENAI}+"))


def split_spec(spec: str) -> tuple[str, str]:
    """`openai:URL` or `openai+KIND:URL` -> kind, "" where the server shall say, and URL."""
    scheme, _, url = spec.partition(":")
    kind = scheme.removeprefix(OPENAI).removeprefix("+")
    if kind and kind not in KINDS:
        raise ScoringError(
            f"{scheme} is not a kind of server{did_you_mean(kind, KINDS)}: use openai, or openai+ with one of "
            f"{', '.join(KINDS)}"
        )
    return kind, url


async def open_openai(spec: str, model: str, key: str = "") -> ServedModel:
    """ScoringError where no server answers in time, or it does not have the model."""
    kind, url = split_spec(spec)
    endpoint = Endpoint(url, key)
    try:
        async with asyncio.timeout(FIRST_ANSWER_SECONDS):
            return await _served(endpoint, kind, model)
    except TimeoutError:
        await endpoint.aclose()
        raise ScoringError(
            f"{endpoint.shown_url} did not answer within {FIRST_ANSWER_SECONDS:g} s: is the server running, and can "
            "this machine reach it?"
        ) from None
    except BaseException:
        await endpoint.aclose()
        raise


async def _served(endpoint: Endpoint, kind: str, model: str) -> ServedModel:
    try:
        listed = await endpoint.get("/models")
        cards = {str(card["id"]): dict(card) for card in listed["data"]}
    except NotFound as error:
        raise ScoringError(f"{error}. Is it an OpenAI-compatible server? Its URL usually ends in /v1") from None
    except (KeyError, TypeError, ValueError):
        raise ScoringError(f"{endpoint.shown_url} has no list of models: is it an OpenAI-compatible server?") from None
    card = _card(endpoint, cards, model)
    kind = kind or str(card.get("owned_by", ""))
    context, root = _integer(card.get("max_model_len")), str(card.get("root") or "")
    if kind == "llamacpp":
        return await _llamacpp(endpoint, model, card)
    if kind == "sglang":
        return SglangModel(endpoint, model, context, root)
    served = VllmModel if kind == "vllm" else CompatibleModel
    return served(endpoint, model, context, root)


def _card(endpoint: Endpoint, cards: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    for name, card in cards.items():
        aliases = card.get("aliases")
        if model == name or (isinstance(aliases, list) and model in aliases):
            found: Mapping[str, Any] = card
            return found
    has = ", ".join(sorted(cards)) or "none"
    raise ScoringError(f"{endpoint.shown_url} has no model {model}{did_you_mean(model, cards, most=1)}; it has {has}")


async def _llamacpp(endpoint: Endpoint, model: str, card: Mapping[str, Any]) -> LlamaCppModel:
    """What one slot takes is less than the whole context, which all of them share."""
    props = _fields(await endpoint.get("/props", own=True))
    settings, meta = _fields(props.get("default_generation_settings")), _fields(card.get("meta"))
    context = _integer(settings.get("n_ctx")) or _integer(meta.get("n_ctx"))
    return LlamaCppModel(endpoint, model, context, slots=_integer(props.get("total_slots")) or 1)


def _fields(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
