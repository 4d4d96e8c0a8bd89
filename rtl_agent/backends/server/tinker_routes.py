"""The Tinker API's endpoints: sessions and futures, training, sampling. CheckpointStore have a module of their own."""

from functools import partial

from aiohttp import web
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # ships no types
from tinker.proto import tinker_public_pb2 as pb

from rtl_agent.backends.models import OWN, model_directory
from rtl_agent.backends.server import requests
from rtl_agent.backends.server.futures import JSON, Payload
from rtl_agent.backends.server.http import content, future_created
from rtl_agent.backends.server.requests import CreateSession, RetrieveFuture, SessionOnly, read
from rtl_agent.backends.server.sampling import sample
from rtl_agent.backends.server.service import Service
from rtl_agent.local_models import imported_directory
from rtl_agent.web.app import Route
from rtl_agent.web.errors import RequestError, bad_request, not_found

# With parallel chunks the SDK sends the first chunk of a batch last.
FLAGS = {"parallel_fwdbwd_chunks": False, "pjwt_auth_enabled": False}
CHANGING_FLAGS = {"sample_cancel_enabled": True}


class ClientRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        return [
            ("POST", "client/config", self.flags),
            ("POST", "client/dynamic_config", self.changing_flags),
            ("GET", "healthz", self.health),
            ("GET", "get_server_capabilities", self.capabilities),
            ("POST", "create_session", self.create_session),
            ("POST", "session_heartbeat", self.heartbeat),
            ("GET", "sessions", self.sessions),
            ("GET", "sessions/{session}", self.session),
            ("POST", "sessions/{session}/finish", self.finish),
            ("POST", "telemetry", self.telemetry),
            ("POST", "retrieve_future", self.retrieve),
            ("POST", "cancel_future", self.cancel),
        ]

    async def flags(self, request: web.Request) -> web.Response:
        return content(FLAGS)

    async def changing_flags(self, request: web.Request) -> web.Response:
        return content(CHANGING_FLAGS)

    async def health(self, request: web.Request) -> web.Response:
        return content({"status": "ok"})

    async def telemetry(self, request: web.Request) -> web.Response:
        return content({"status": "accepted"})

    async def capabilities(self, request: web.Request) -> web.Response:
        models = [
            {"model_name": info.name, "max_context_length": info.context, "trainable": True, "sampleable": True}
            for info in self._service.engine.models()
        ]
        return content({"supported_models": models})

    async def create_session(self, request: web.Request) -> web.Response:
        body = read(await request.read(), CreateSession)
        metadata = {key: str(value) for key, value in (body.user_metadata or {}).items()}
        session = self._service.sessions.create(metadata, body.display_name)
        return content({"type": "create_session", "session_id": session.id})

    async def heartbeat(self, request: web.Request) -> web.Response:
        self._service.sessions.hear(read(await request.read(), SessionOnly).session_id)
        return content({"type": "session_heartbeat"})

    async def sessions(self, request: web.Request) -> web.Response:
        return content({"sessions": self._service.sessions.ids()})

    async def session(self, request: web.Request) -> web.Response:
        session = self._service.sessions.hear(request.match_info["session"])
        runs = [run.id for run in self._service.runs.values() if run.session_id == session.id]
        samplers = [sampler.id for sampler in self._service.samplers.of_session(session.id)]
        return content(
            {
                "training_run_ids": runs,
                "sampler_ids": samplers,
                "user_metadata": session.user_metadata,
                "display_name": session.display_name,
            }
        )

    async def finish(self, request: web.Request) -> web.Response:
        session = self._service.sessions.hear(request.match_info["session"])
        self._service.end_session(session.id)
        return content({})

    async def retrieve(self, request: web.Request) -> web.Response:
        request_id = read(await request.read(), RetrieveFuture).request_id
        future = self._service.futures.find(request_id)
        if future is None:
            if self._service.sessions.was_known(request_id.split(":")[0]):
                raise RequestError(
                    410, f"the result of {request_id} was already retrieved, was cancelled, or has expired"
                )
            raise not_found(
                f"this server has no request {request_id}: the server was restarted, and its results are lost. "
                "Create a new ServiceClient and load the last checkpoint."
            )
        self._service.sessions.hear(future.session_id)
        answer = await self._service.futures.wait(future)
        if answer is None:
            return content({"type": "try_again", "request_id": request_id, "queue_state": "active"}, status=408)
        return web.Response(body=answer.body, content_type=answer.content_type)

    async def cancel(self, request: web.Request) -> web.Response:
        self._service.futures.cancel(read(await request.read(), RetrieveFuture).request_id)
        return web.Response(body=b"{}", content_type=JSON)


class TrainingRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
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
        return future_created(self._service.create_model(read(await request.read(), requests.CreateModel)))

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
                "model_data": {
                    "arch": run.info.architecture,
                    "model_name": run.info.name,
                    "tokenizer_id": _tokenizer(run.info.name),
                },
                "is_lora": True,
                "lora_rank": run.lora.rank,
            }
        )

    async def forward_backward(self, request: web.Request) -> web.Response:
        message = pb.ForwardBackwardRequest()
        try:
            message.ParseFromString(await request.read())
        except DecodeError as error:
            raise bad_request(
                "the body is not a ForwardBackwardRequest in protobuf, as SDKs since 0.25 send"
            ) from error
        run = self._service.run(message.model_id)
        return future_created(self._service.train(run, message.seq_id or None, partial(run.forward_backward, message)))

    async def optim_step(self, request: web.Request) -> web.Response:
        body = read(await request.read(), requests.OptimStep)
        run = self._service.run(body.model_id)
        return future_created(self._service.train(run, body.seq_id, partial(run.optim_step, body.adam_params)))

    async def save(self, request: web.Request) -> web.Response:
        body = read(await request.read(), requests.SaveWeights)
        run = self._service.run(body.model_id)
        return future_created(self._service.train(run, body.seq_id, partial(run.save, body, "weights")))

    async def save_for_sampler(self, request: web.Request) -> web.Response:
        body = read(await request.read(), requests.SaveForSampler)
        run = self._service.run(body.model_id)
        if body.path is None:
            return future_created(self._service.snapshot_run(run, body))
        return future_created(self._service.train(run, body.seq_id, partial(run.save, body, "sampler_weights")))

    async def load(self, request: web.Request) -> web.Response:
        body = read(await request.read(), requests.LoadWeights)
        run = self._service.run(body.model_id)
        return future_created(self._service.train(run, body.seq_id, partial(run.load, body)))


def _tokenizer(model: str) -> str:
    """Our own models and fetched ones are on no hub: the SDK loads their tokenizer from a directory here."""
    return str(model_directory(model)) if model in OWN or imported_directory(model) else model


class SamplingRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
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
        body = read(await request.read(), requests.SampleBody)
        sampler = self._service.samplers.get(body.sampling_session_id)
        self._service.sessions.hear(sampler.session_id)
        request_id = f"{sampler.id}:{body.seq_id}"
        if future := self._service.futures.find(request_id):
            return future_created(future)

        async def work() -> Payload:
            async with self._service.samplers.use(sampler) as snapshot:
                return await sample(body, snapshot, self._service.info(sampler.base))

        sequence_ids = tuple(f"{request_id}:{index}" for index in range(body.num_samples))
        return future_created(self._service.futures.start(request_id, sampler.session_id, work(), sequence_ids))
