"""Endpoints of OpenAI's API: a model that was trained here can be asked by any program that speaks it."""

from aiohttp import web

from rtl_agent.backends.server.chat import ChatRequest, complete
from rtl_agent.backends.server.http import Handler, content
from rtl_agent.backends.server.requests import read
from rtl_agent.backends.server.service import Service


class OpenAIRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [("GET", "/v1/models", self.models), ("POST", "/v1/chat/completions", self.complete)]

    async def models(self, request: web.Request) -> web.Response:
        named = [
            {"id": info.name, "object": "model", "owned_by": "rtl-agent"} for info in self._service.engine.models()
        ]
        return content({"object": "list", "data": named})

    async def complete(self, request: web.Request) -> web.Response:
        """`model` is a model's name, or the tinker:// path of saved weights."""
        body = read(await request.read(), ChatRequest)
        sampler = self._service.named_sampler(body.model)
        async with self._service.samplers.use(sampler) as snapshot:
            return content(await complete(body, snapshot, self._service.info(sampler.base)))
