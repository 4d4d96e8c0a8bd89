"""Endpoints that change a model, in turn: create, forward_backward, optim_step, save, load."""

from functools import partial

from aiohttp import web
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # ships no types
from tinker.proto import tinker_public_pb2 as pb

from rtl_agent.backends.models import OWN, model_directory
from rtl_agent.backends.server import requests
from rtl_agent.backends.server.http import Handler, content, promised
from rtl_agent.backends.server.refused import bad_request
from rtl_agent.backends.server.requests import read
from rtl_agent.backends.server.service import Service


class TrainingRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("POST", "create_model", self.create),
            ("POST", "unload_model", self.unload),
            ("POST", "get_info", self.info),
            ("POST", "forward_backward", self.forward_backward),
            ("POST", "optim_step", self.optim_step),
            ("POST", "save_weights", self.save),
            ("POST", "save_weights_for_sampler", self.save_for_sampler),
            ("POST", "load_weights", self.load),
        ]

    async def create(self, request: web.Request) -> web.Response:
        return promised(self._service.create_model(read(await request.read(), requests.CreateModel)))

    async def unload(self, request: web.Request) -> web.Response:
        run = self._service.run(read(await request.read(), requests.ModelOnly).model_id)
        self._service.unload(run)
        return content({"model_id": run.id, "type": "unload_model"})

    async def info(self, request: web.Request) -> web.Response:
        run = self._service.run(read(await request.read(), requests.ModelOnly).model_id)
        return content(
            {
                "type": "get_info",
                "model_id": run.id,
                "model_name": run.info.name,
                "model_data": {"arch": "qwen3", "model_name": run.info.name, "tokenizer_id": _tokenizer(run.info.name)},
                "is_lora": True,
                "lora_rank": run.lora.rank,
            }
        )

    async def forward_backward(self, request: web.Request) -> web.Response:
        message = pb.ForwardBackwardRequest()
        try:
            message.ParseFromString(await request.read())
        except DecodeError as error:
            raise bad_request("the body is no ForwardBackwardRequest in protobuf, as SDKs since 0.25 send") from error
        run = self._service.run(message.model_id)
        return promised(self._service.train(run, message.seq_id or None, partial(run.forward_backward, message)))

    async def optim_step(self, request: web.Request) -> web.Response:
        body = read(await request.read(), requests.OptimStep)
        run = self._service.run(body.model_id)
        return promised(self._service.train(run, body.seq_id, partial(run.optim_step, body.adam_params)))

    async def save(self, request: web.Request) -> web.Response:
        body = read(await request.read(), requests.SaveWeights)
        run = self._service.run(body.model_id)
        return promised(self._service.train(run, body.seq_id, partial(run.save, body, "weights")))

    async def save_for_sampler(self, request: web.Request) -> web.Response:
        body = read(await request.read(), requests.SaveForSampler)
        run = self._service.run(body.model_id)
        if body.path is None:
            return promised(self._service.snapshot_run(run, body))
        return promised(self._service.train(run, body.seq_id, partial(run.save, body, "sampler_weights")))

    async def load(self, request: web.Request) -> web.Response:
        body = read(await request.read(), requests.LoadWeights)
        run = self._service.run(body.model_id)
        return promised(self._service.train(run, body.seq_id, partial(run.load, body)))


def _tokenizer(model: str) -> str:
    """Our own models are on no hub: the SDK loads their tokenizer from the directory that the server made."""
    return str(model_directory(model)) if model in OWN else model
