"""Training runs: a model that changes, its thread, and what its requests do."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import get_args

from tinker.proto import tinker_public_pb2 as pb

from rtl_agent.backends.engine.contract import Adam, EngineError, Lora, LossName, ModelInfo, Snapshot, TrainedModel
from rtl_agent.backends.server import tensors
from rtl_agent.backends.server.answer import Answer, json_answer
from rtl_agent.backends.server.checkpoints import Checkpoints, Kind, RunRecord, address, parse
from rtl_agent.backends.server.requests import AdamFields, LoadWeights, SaveWeights
from rtl_agent.backends.server.turns import Turns

LOSSES: tuple[LossName, ...] = get_args(LossName)


def now() -> str:
    return datetime.now(UTC).isoformat()


@dataclass(eq=False)
class Run:
    """The methods compute: they are called on the run's own thread, in turn."""

    id: str
    session_id: str
    info: ModelInfo
    lora: Lora
    user_metadata: Mapping[str, str] | None
    model: TrainedModel
    turns: Turns
    checkpoints: Checkpoints
    started: str

    @property
    def record(self) -> RunRecord:
        return RunRecord(self.id, self.info.name, self.lora, self.user_metadata, self.started)

    def forward_backward(self, request: pb.ForwardBackwardRequest) -> Answer:
        if request.loss_fn not in LOSSES:
            raise EngineError(f"this server has no loss {request.loss_fn!r}; it has {', '.join(LOSSES)}")
        loss = LOSSES[LOSSES.index(request.loss_fn)]
        batch = tensors.examples(request, self.info)
        config = tensors.loss_config(request)
        passed = self.model.forward_backward(batch, loss, config, forward_only=request.forward_only)
        return tensors.passed_answer(passed)

    def optim_step(self, fields: AdamFields) -> Answer:
        if fields.type != "adamw":
            raise EngineError(f"this server has no optimizer {fields.type!r}; it has AdamW")
        adam = Adam(
            fields.learning_rate, fields.beta1, fields.beta2, fields.eps, fields.weight_decay, fields.grad_clip_norm
        )
        return json_answer({"metrics": dict(self.model.step(adam))})

    def save(self, request: SaveWeights, kind: Kind) -> Answer:
        where = address(self.id, kind, request.path or "latest")
        self.checkpoints.write(
            self.record,
            where,
            partial(self._save, optimizer=kind == "weights"),
            overwrite=request.overwrite,
            ttl_seconds=request.ttl_seconds,
            user_metadata=request.user_metadata,
        )
        return json_answer({"path": where.path})

    def _save(self, directory: Path, *, optimizer: bool) -> None:
        self.model.save(directory, optimizer=optimizer)

    def load(self, request: LoadWeights) -> Answer:
        where = parse(request.path)
        if request.optimizer and where.kind == "sampler_weights":
            raise EngineError(f"{request.path} was saved to sample and has no optimizer state; save_state has")
        self.model.load(self.checkpoints.directory(where), optimizer=request.optimizer)
        return json_answer({"path": request.path, "model_id": self.id})

    def snapshot(self) -> Snapshot:
        return self.model.snapshot()

    def close(self) -> None:
        self.turns.close(self.model.close)
