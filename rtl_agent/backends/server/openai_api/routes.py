"""Endpoints of OpenAI's API: models, completions and chat completions, whole or as a stream of events."""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar

from aiohttp import web

from rtl_agent.backends.engine.contract import (
    ModelInfo,
    Snapshot,
    UnknownModel,
)
from rtl_agent.backends.server.http import content
from rtl_agent.backends.server.openai_api.generation import Generation, plan_chat, plan_completion, whole_answer
from rtl_agent.backends.server.openai_api.requests import (
    ChatRequest,
    CompletionRequest,
)
from rtl_agent.backends.server.openai_api.responses import (
    Fields,
)
from rtl_agent.backends.server.openai_api.streaming import GONE_SECONDS, EventStream, is_gone
from rtl_agent.backends.server.requests import read
from rtl_agent.backends.server.service import Service
from rtl_agent.web.app import Route
from rtl_agent.web.errors import RequestError, not_found

T = TypeVar("T")

CLIENT_CLOSED_REQUEST = 499


class OpenAIRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._started = int(time.time())

    def routes(self) -> list[Route]:
        return [
            ("GET", "/v1/models", self.models),
            ("GET", "/v1/models/{model:.+}", self.model),
            ("POST", "/v1/completions", self.complete),
            ("POST", "/v1/chat/completions", self.chat),
        ]

    async def models(self, request: web.Request) -> web.Response:
        return content({"object": "list", "data": [self._listed(info) for info in self._service.engine.models()]})

    async def model(self, request: web.Request) -> web.Response:
        name = request.match_info["model"]
        for info in self._service.engine.models():
            if info.name == name:
                return content(self._listed(info))
        raise _no_model(f"this server does not serve the model {name!r}")

    def _listed(self, info: ModelInfo) -> Fields:
        fields: Fields = {"id": info.name, "object": "model", "created": self._started, "owned_by": "rtl-agent"}
        return {**fields, "max_model_len": info.context}  # vLLM's name for the context

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """`model` is a model's name, or the tinker:// path of saved weights."""
        body = read(await request.read(), CompletionRequest)
        body.check()
        async with self._opened(body.model) as (snapshot, model):
            plan = await asyncio.to_thread(plan_completion, body, model)
            return await _respond(request, plan, snapshot)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = read(await request.read(), ChatRequest)
        body.check()
        async with self._opened(body.model) as (snapshot, model):
            plan = await asyncio.to_thread(plan_chat, body, model)
            return await _respond(request, plan, snapshot)

    @asynccontextmanager
    async def _opened(self, name: str) -> AsyncIterator[tuple[Snapshot, ModelInfo]]:
        try:
            sampler = await self._service.open_named(name)
        except UnknownModel as error:
            raise _no_model(str(error)) from error
        async with self._service.samplers.use(sampler) as snapshot:
            yield snapshot, self._service.info(sampler.base)


def _no_model(message: str) -> RequestError:
    return not_found(message, param="model", code="model_not_found")


async def _respond(request: web.Request, plan: Generation, snapshot: Snapshot) -> web.StreamResponse:
    if plan.body.streams:
        return await EventStream(request, plan, snapshot).run()
    return content(await _unless_gone(request, whole_answer(plan, snapshot)))


async def _unless_gone(request: web.Request, work: Coroutine[object, object, T]) -> T:
    """Nobody samples for a client that has hung up."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=GONE_SECONDS))[0]:
            if is_gone(request):
                raise RequestError(CLIENT_CLOSED_REQUEST, "the client closed the connection")
        return await task
    finally:
        task.cancel()
