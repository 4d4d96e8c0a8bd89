"""Endpoints of the REST client: training runs and checkpoints on disk."""

import asyncio
from collections.abc import Sequence

from aiohttp import web

from rtl_agent.backends.server import requests
from rtl_agent.backends.server.checkpoint_store import Address, StoredCheckpoint, StoredRun, parse
from rtl_agent.backends.server.http import content
from rtl_agent.backends.server.requests import read
from rtl_agent.backends.server.service import Service
from rtl_agent.web.app import Route
from rtl_agent.web.errors import bad_request, not_found

TYPES = {"weights": "training", "sampler_weights": "sampler"}


class CheckpointRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._checkpoints = service.checkpoints

    def routes(self) -> list[Route]:
        one = "training_runs/{run}/checkpoints/{kind}/{name}"
        return [
            ("POST", "weights_info", self.weights_info),
            ("GET", "training_runs", self.list_runs),
            ("GET", "training_runs/{run}", self.get_run),
            ("GET", "training_runs/{run}/checkpoints", self.of_run),
            ("GET", "checkpoints", self.list_all),
            ("DELETE", one, self.delete),
            ("PUT", f"{one}/ttl", self.set_ttl),
        ]

    async def weights_info(self, request: web.Request) -> web.Response:
        where = parse(read(await request.read(), requests.WeightsInfo).tinker_path)
        self._checkpoints.find(where)
        record = self._record(where.run)
        return content(
            {
                "base_model": record.base,
                "is_lora": True,  # rank 0, every weight: the SDK loads nothing that is not a LoRA
                "lora_rank": record.lora.rank,
                "train_mlp": record.lora.mlp,
                "train_attn": record.lora.attention,
                "train_unembed": record.lora.unembed,
            }
        )

    async def list_runs(self, request: web.Request) -> web.Response:
        saved = {record.run: record for record in self._checkpoints.runs()}
        records = list(({run.id: run.record for run in self._service.runs.values()} | saved).values())
        offset, limit = _page(request)
        return content(
            {
                "training_runs": [self._run(record) for record in records[offset : offset + limit]],
                "cursor": {"offset": offset, "limit": limit, "total_count": len(records)},
            }
        )

    async def get_run(self, request: web.Request) -> web.Response:
        return content(self._run(self._record(request.match_info["run"])))

    async def of_run(self, request: web.Request) -> web.Response:
        record = self._record(request.match_info["run"])
        return content({"checkpoints": _listed(self._checkpoints.of_run(record.run)), "cursor": None})

    async def list_all(self, request: web.Request) -> web.Response:
        runs = [record.run for record in self._checkpoints.runs()]
        found = [checkpoint for run in runs for checkpoint in self._checkpoints.of_run(run)]
        offset, limit = _page(request)
        return content(
            {
                "checkpoints": _listed(found[offset : offset + limit]),
                "cursor": {"offset": offset, "limit": limit, "total_count": len(found)},
            }
        )

    async def delete(self, request: web.Request) -> web.Response:
        await asyncio.to_thread(self._checkpoints.delete, _address(request))
        return content({})

    async def set_ttl(self, request: web.Request) -> web.Response:
        self._checkpoints.set_ttl(_address(request), read(await request.read(), requests.SetTtl).ttl_seconds)
        return content({})

    def _record(self, run_id: str) -> StoredRun:
        if run := self._service.runs.get(run_id):
            return run.record
        if record := self._checkpoints.record(run_id):
            return record
        raise not_found(f"this server has no training run {run_id}")

    def _run(self, record: StoredRun) -> dict[str, object]:
        checkpoints = self._checkpoints.of_run(record.run)
        last = {kind: _listed([c for c in checkpoints if c.address.kind == kind][:1]) for kind in TYPES}
        return {
            "training_run_id": record.run,
            "base_model": record.base,
            "model_owner": "local",
            "is_lora": True,
            "lora_rank": record.lora.rank,
            "last_request_time": checkpoints[0].time if checkpoints else record.time,
            "last_checkpoint": next(iter(last["weights"]), None),
            "last_sampler_checkpoint": next(iter(last["sampler_weights"]), None),
            "user_metadata": record.user_metadata,
        }


def _address(request: web.Request) -> Address:
    matched = request.match_info
    return parse(f"tinker://{matched['run']}/{matched['kind']}/{matched['name']}")


def _page(request: web.Request) -> tuple[int, int]:
    try:
        offset, limit = int(request.query.get("offset", "0")), int(request.query.get("limit", "100"))
    except ValueError as error:
        raise bad_request("offset and limit must be whole numbers") from error
    return max(offset, 0), min(max(limit, 0), 1000)


def _listed(checkpoints: Sequence[StoredCheckpoint]) -> list[dict[str, object]]:
    return [
        {
            "checkpoint_id": f"{checkpoint.address.kind}/{checkpoint.address.name}",
            "checkpoint_type": TYPES[checkpoint.address.kind],
            "time": checkpoint.time,
            "tinker_path": checkpoint.address.path,
            "size_bytes": checkpoint.size_bytes,
            "expires_at": checkpoint.expires_at,
            "user_metadata": checkpoint.user_metadata,
        }
        for checkpoint in checkpoints
    ]
