"""All that a running server holds: sessions, training runs, samplers, futures, checkpoints. Knows nothing of HTTP."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from pathlib import Path

from rtl_agent.backends.engine.contract import Engine, EngineError, Lora, ModelInfo
from rtl_agent.backends.server.checkpoint_store import CheckpointStore, parse
from rtl_agent.backends.server.futures import Payload, RequestFuture, RequestFutures, json_payload
from rtl_agent.backends.server.requests import CreateModel, CreateSamplingSession, SaveForSampler
from rtl_agent.backends.server.sessions import SILENT_SECONDS, SamplingSession, SamplingSessions, Sessions
from rtl_agent.backends.server.training_run import TrainingQueue, TrainingRun, now
from rtl_agent.web.errors import bad_request, not_found

log = logging.getLogger(__name__)

NO_SESSION = "nobody"  # owns the samplers of OpenAI's API, which knows no sessions


class Service:
    def __init__(self, engine: Engine, state: Path, *, silent_seconds: float = SILENT_SECONDS) -> None:
        self.engine = engine
        self.checkpoints = CheckpointStore(state)
        self.sessions = Sessions(silent_seconds)
        self.futures = RequestFutures()
        self.samplers = SamplingSessions()
        self.runs: dict[str, TrainingRun] = {}
        self._infos: dict[str, ModelInfo] = {}
        self._sweep_seconds = min(5.0, silent_seconds / 4)

    def info(self, base: str) -> ModelInfo:
        """Of a model that has been asked for: the engine has read it then."""
        if base not in self._infos:
            self._infos |= {info.name: info for info in self.engine.models()}
        if base not in self._infos:
            raise EngineError(f"this server has no model {base!r}")
        return self._infos[base]

    def run(self, model_id: str) -> TrainingRun:
        run = self.runs.get(model_id)
        if run is None:
            raise not_found(
                f"this server is not training {model_id}: it was unloaded, its client's session ended, or the server "
                "was restarted. Load the last checkpoint with create_training_client_from_state_with_optimizer."
            )
        self.sessions.hear(run.session_id)
        return run

    def create_model(self, body: CreateModel) -> RequestFuture:
        self.sessions.hear(body.session_id)
        run_id = f"{body.session_id}:train:{body.model_seq_id}"
        request_id = f"{run_id}:0"
        if future := self.futures.find(request_id):
            return future
        if run_id in self.runs:
            raise bad_request(f"session {body.session_id} has already created model {body.model_seq_id}")
        queue = TrainingQueue(name=f"train-{body.model_seq_id}", first=0)
        return self.futures.start(request_id, body.session_id, self._create_model(run_id, body, queue))

    async def _create_model(self, run_id: str, body: CreateModel, queue: TrainingQueue) -> Payload:
        fields = body.lora_config
        if body.optimizer_config.type != "adamw":
            raise EngineError(f"the optimizer {body.optimizer_config.type!r} is not supported; use adamw")
        seed = fields.seed if fields.seed is not None else time.time_ns() % 2**31
        lora = Lora(fields.rank, seed, fields.train_mlp, fields.train_attn, fields.train_unembed)
        try:
            model = await queue.submit(0, lambda: self.engine.create(body.base_model, lora))
        except BaseException:
            queue.close(lambda: None)
            raise
        metadata = {key: str(value) for key, value in (body.user_metadata or {}).items()} or None
        info = self.info(body.base_model)
        run = TrainingRun(run_id, body.session_id, info, lora, metadata, model, queue, self.checkpoints, now())
        self.runs[run_id] = run
        return json_payload({"model_id": run_id, "type": "create_model"})

    def train(self, run: TrainingRun, sequence_id: int | None, call: Callable[[], Payload]) -> RequestFuture:
        """Queue a call on the run's thread. A sequence id sent again, as after a broken connection, runs once."""
        request_id = f"{run.id}:{sequence_id if sequence_id is not None else time.time_ns()}"
        if future := self.futures.find(request_id):
            return future
        return self.futures.start(request_id, run.session_id, _result(run.queue.submit(sequence_id, call)))

    def snapshot_run(self, run: TrainingRun, body: SaveForSampler) -> RequestFuture:
        """A sampler that is nowhere but in memory."""
        if body.sampling_session_seq_id is None:
            raise bad_request("save_weights_for_sampler needs a path, or a sampling_session_seq_id")
        request_id = f"{run.id}:{body.seq_id}"
        if future := self.futures.find(request_id):
            return future
        taken = run.queue.submit(body.seq_id, run.snapshot)
        sampler_id = f"{run.session_id}:sample:{body.sampling_session_seq_id}"

        async def add() -> Payload:
            self.samplers.add(SamplingSession(sampler_id, run.session_id, run.info.name, snapshot=await taken))
            return json_payload({"sampling_session_id": sampler_id, "type": "save_weights_for_sampler"})

        return self.futures.start(request_id, run.session_id, add())

    async def create_sampler(self, body: CreateSamplingSession) -> SamplingSession:
        self.sessions.hear(body.session_id)
        sampler_id = f"{body.session_id}:sample:{body.sampling_session_seq_id}"
        if sampler := self.samplers.find(sampler_id):
            return sampler
        if body.model_path is None and body.base_model is None:
            raise bad_request("a sampling session needs a base_model or a model_path")
        sampler = self._sampler(sampler_id, body.session_id, body.base_model or "", body.model_path)
        await self.samplers.open(sampler)
        self.samplers.add(sampler)
        return sampler

    def named_sampler(self, model: str) -> SamplingSession:
        """For those who have no session: by a model's name, or by the tinker:// path of saved weights."""
        sampler_id = f"{NO_SESSION}:{model}"
        if sampler := self.samplers.find(sampler_id):
            return sampler
        path = model if model.startswith("tinker://") else None
        sampler = self._sampler(sampler_id, NO_SESSION, "" if path else model, path)
        self.samplers.add(sampler)  # opened by its first user, so that two at once open one
        return sampler

    async def open_named(self, model: str) -> SamplingSession:
        """`named_sampler`, loaded. A name that cannot be loaded is forgotten: any text may come as a name."""
        sampler = self.named_sampler(model)
        try:
            await self.samplers.open(sampler)
        except Exception:
            self.samplers.forget(sampler)
            raise
        return sampler

    def _sampler(self, sampler_id: str, session_id: str, base: str, path: str | None) -> SamplingSession:
        if path is None:
            return SamplingSession(sampler_id, session_id, base, load=lambda: self.engine.base_snapshot(base))
        where = parse(path)
        directory = self.checkpoints.directory(where)
        record = self.checkpoints.record(where.run)
        if record is None:
            raise EngineError(f"{path} has no run.json any longer; save the checkpoint again")
        trained = record.base
        return SamplingSession(
            sampler_id, session_id, trained, path, load=lambda: self.engine.load_snapshot(trained, directory)
        )

    def unload(self, run: TrainingRun) -> None:
        del self.runs[run.id]
        run.close()

    def end_session(self, session_id: str) -> None:
        """Free all that belongs to it."""
        self.sessions.finish(session_id)
        self.futures.drop_session(session_id)
        for run in [run for run in self.runs.values() if run.session_id == session_id]:
            self.unload(run)
        self.samplers.drop_session(session_id)

    async def sweep_forever(self) -> None:
        while True:
            await asyncio.sleep(self._sweep_seconds)
            try:
                self._sweep()
            except Exception:
                log.exception("freeing what is no longer used failed; the next sweep will try again")

    def _sweep(self) -> None:
        self.futures.sweep(time.monotonic())
        for session_id in self.sessions.silent(time.monotonic()):
            log.warning("session %s sent no heartbeat: its models and samplers are freed", session_id)
            self.end_session(session_id)

    def close(self) -> None:
        for session_id in self.sessions.ids():
            self.end_session(session_id)
        self.samplers.close()
        self.engine.close()


def _result(taken: "asyncio.Future[Payload]") -> Coroutine[object, object, Payload]:
    async def wait() -> Payload:
        return await taken

    return wait()
