"""LoRA adapters as folders: checkpoints that an engine wrote, and those that the repository has, by their names.

A server finds weights below its state directory only, under tinker:// paths. `adopt` copies a folder there.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rtl_agent.backends.engine.contract import EngineError, Lora
from rtl_agent.backends.models.registry import SHIPPED
from rtl_agent.backends.server.checkpoint_store import CheckpointStore, StoredRun, address
from rtl_agent.local_models import OWN

WEIGHTS, ABOUT = "adapter_model.safetensors", "checkpoint.json"
SHIPPED_ADAPTERS: Mapping[str, Path] = {f"{OWN}{file.parent.name}": file.parent for file in SHIPPED.glob(f"*/{ABOUT}")}
"""By name. Their weights are in the repository, and in no wheel."""


@dataclass(frozen=True)
class Adapter:
    """Beside which model it is computed with, and how large it is."""

    name: str
    folder: Path
    base: str
    lora: Lora

    @property
    def digest(self) -> str:
        """Tells these weights from others in the same place."""
        return hashlib.sha256((self.folder / WEIGHTS).read_bytes()).hexdigest()[:16]


def find_adapter(name: str) -> Adapter | None:
    """None for what is not an adapter. EngineError for one that is not here, or cannot be read."""
    folder = SHIPPED_ADAPTERS.get(name)
    if folder is not None and not (folder / WEIGHTS).is_file():
        raise EngineError(
            f"The weights of {name} are not part of this package. They are in the repository, in the folder "
            f"{folder.name} beside the other models: give its path."
        )
    folder = folder or Path(name)
    if "://" in name or not (folder / WEIGHTS).is_file():
        return None
    try:
        about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return Adapter(name, folder, str(about["base"]), Lora(**about["lora"]))
    except FileNotFoundError:
        raise EngineError(
            f"{folder} has {WEIGHTS}, but no {ABOUT}, which says what it was trained from: only checkpoints of "
            "rtl-agent can be used."
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(f"{folder / ABOUT} cannot be read: {error}.") from None


def adopt(adapter: Adapter, state: Path) -> str:
    """The tinker:// path of the adapter on a server with this state directory. Copied there once."""
    store, run = CheckpointStore(state), f"adapter-{adapter.digest}"
    where = address(run, "weights", "adapter")
    if store.record(run) is None:
        record = StoredRun(run, adapter.base, adapter.lora, None, datetime.now(UTC).isoformat())
        store.write(record, where, lambda folder: _copy(adapter.folder, folder))
    return where.path


def _copy(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for name in (WEIGHTS, ABOUT, "adapter_config.json"):
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
