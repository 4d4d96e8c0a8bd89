"""Model names to directories in Hugging Face's layout.

Our own models are put together in the user's cache from what the package ships: a configuration, the tokenizer and the
weights. One whose weights do not ship yet is refused: random ones would be taken for a model.
"""

import hashlib
import json
import secrets
import shutil
from dataclasses import replace
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

from rtl_agent.backends.engine.contract import EngineError, UnknownModel
from rtl_agent.backends.engine.qwen3.config import Qwen3Config
from rtl_agent.backends.models.pins import fetchable
from rtl_agent.local_models import imported_directory, model_cache

SHIPPED = Path(__file__).parent
TOKENIZER = SHIPPED / "tokenizer"  # of every model that has none beside its weights

# The vocabulary is the tokenizer's, filled in when the directory is made.
_STUDENT = Qwen3Config(
    vocabulary=0, width=160, layers=3, feed_forward=384, heads=5, kv_heads=5, head_dim=32, context=4096
)
_TEACHER = Qwen3Config(
    vocabulary=0, width=224, layers=4, feed_forward=576, heads=7, kv_heads=7, head_dim=32, context=4096
)
CONFIGS = {
    "rtl-agent/student": _STUDENT,
    "rtl-agent/student-base": _STUDENT,
    "rtl-agent/student-reader": _STUDENT,
    "rtl-agent/teacher": _TEACHER,
    "rtl-agent/agent": _TEACHER,
    "rtl-agent/teacher-2": _TEACHER,
}
OWN = tuple(name for name in CONFIGS if (SHIPPED / name.rpartition("/")[2] / "model.safetensors").is_file())


def own_config(name: str) -> Qwen3Config:
    """The architecture of one of our own models, with the tokenizer's vocabulary."""
    return _complete(CONFIGS[name], own_tokenizer(name))


def own_tokenizer(name: str) -> Path:
    """The folder with the tokenizer of one of our own models."""
    beside = SHIPPED / name.rpartition("/")[2]
    return beside if (beside / "tokenizer.json").is_file() else TOKENIZER


def model_directory(name: str) -> Path:
    if name in CONFIGS:
        return _own(name)
    try:
        if name and Path(name).is_dir():
            return Path(name)
        if imported := imported_directory(name):
            return imported
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, OSError, ValueError):  # a name may be any text, from a request
        wanted = fetchable(name)
        raise UnknownModel(
            f"There is no model {name!r}: it is neither one of {', '.join(OWN)}, nor a directory, nor a model in the "
            "local Hugging Face cache (`hf download NAME` puts one there)."
            + (f" `rtl-agent models fetch {wanted.short}` gets {wanted.name} without a hub." if wanted else "")
        ) from None


def _own(name: str) -> Path:
    short = name.rsplit("/", 1)[-1]
    config, tokenizer = own_config(name), _json_files(own_tokenizer(name))
    shipped = SHIPPED / short / "model.safetensors"
    if not shipped.is_file():
        raise EngineError(
            f"The weights of {name} are not part of this package. `rtl-agent pretrain {short} --out DIR` makes them: "
            f"put DIR/model.safetensors into {shipped.parent}."
        )
    parts = [json.dumps(config.to_json()).encode(), *(path.read_bytes() for path in tokenizer)]
    parts.append(shipped.read_bytes())
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    directory = model_cache() / f"{short}-{digest}"
    if not directory.is_dir():
        _assemble(directory, config, [shipped, *tokenizer])
    return directory


def _complete(config: Qwen3Config, tokenizer: Path) -> Qwen3Config:
    try:
        vocabulary = json.loads((tokenizer / "tokenizer.json").read_text(encoding="utf-8"))
        ending = json.loads((tokenizer / "tokenizer_config.json").read_text(encoding="utf-8"))["eos_token"]
    except OSError as error:
        raise EngineError(f"The package's tokenizer is missing ({error.filename}): reinstall rtl-agent.") from None
    added = {token["content"]: token["id"] for token in vocabulary["added_tokens"]}
    ids = [*vocabulary["model"]["vocab"].values(), *added.values()]
    return replace(config, vocabulary=max(ids) + 1, end_tokens=frozenset({added[ending]}))


def _assemble(directory: Path, config: Qwen3Config, files: list[Path]) -> None:
    """Beside it first: two processes may do this at the same time, and either may be killed."""
    beside = directory.with_name(f"{directory.name}.{secrets.token_hex(6)}.partial")
    try:
        beside.mkdir(parents=True)
        (beside / "config.json").write_text(json.dumps(config.to_json(), indent=2) + "\n", encoding="utf-8")
        for path in files:
            shutil.copyfile(path, beside / path.name)
        try:
            beside.rename(directory)
        except OSError:
            if not directory.is_dir():
                raise
    except OSError as error:
        raise EngineError(
            f"The model directory {directory} could not be written: {error.strerror}. Set XDG_CACHE_HOME to a "
            "directory with free space."
        ) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _json_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))
