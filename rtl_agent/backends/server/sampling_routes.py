"""Endpoints that sample from frozen weights."""

from aiohttp import web

from rtl_agent.backends.server import requests
from rtl_agent.backends.server.answer import Answer
from rtl_agent.backends.server.http import Handler, content, promised
from rtl_agent.backends.server.requests import read
from rtl_agent.backends.server.sampling import sample
from rtl_agent.backends.server.service import Service


class SamplingRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("POST", "create_sampling_session", self.create),
            ("POST", "asample", self.sample),
            ("GET", "samplers/{sampler}", self.sampler),
        ]

    async def create(self, request: web.Request) -> web.Response:
        sampler = await self._service.create_sampler(read(await request.read(), requests.CreateSamplingSession))
        return content({"type": "create_sampling_session", "sampling_session_id": sampler.id})

    async def sampler(self, request: web.Request) -> web.Response:
        sampler = self._service.samplers.get(request.match_info["sampler"])
        return content({"sampler_id": sampler.id, "base_model": sampler.base, "model_path": sampler.model_path})

    async def sample(self, request: web.Request) -> web.Response:
        body = read(await request.read(), requests.Sample)
        sampler = self._service.samplers.get(body.sampling_session_id)
        self._service.sessions.hear(sampler.session_id)
        request_id = f"{sampler.id}:{body.seq_id}"
        if promise := self._service.promises.find(request_id):
            return promised(promise)

        async def work() -> Answer:
            async with self._service.samplers.use(sampler) as snapshot:
                return await sample(body, snapshot, self._service.info(sampler.base))

        sequence_ids = tuple(f"{request_id}:{index}" for index in range(body.num_samples))
        return promised(self._service.promises.start(request_id, sampler.session_id, work(), sequence_ids))
