"""Models on this machine that `rtl-agent models` put there: where they are, and what is known of them.

Below backends and envs, since both look here: the one for weights, the other for a tokenizer and a renderer.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

OWN = "rtl-agent/"  # before the names of the small models that come with the package
CARD, TOKENIZER = "rtl_agent.json", "tokenizer.json"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


@dataclass(frozen=True)
class ModelCard:
    """What an import writes beside the weights. An empty `renderer` means that the name decides."""

    name: str
    renderer: str = ""
    chats: bool = True  # it has a chat template
    architecture: str = ""
    dtype: str = ""
    parameters: int = 0
    source: str = ""
    sha256: str = ""  # of the file that was imported
    licence: str = ""

    def write(self, directory: Path) -> None:
        (directory / CARD).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def model_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rtl-agent" / "models"


def cached_directory(name: str) -> Path:
    """Where a model of this name is kept, whether it is there or not. ValueError for what is no name."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:100]!r} is not a model's name")
    return model_cache() / name.replace("/", "--")


def imported_directory(name: str) -> Path | None:
    """The directory of a model that was fetched; a name may be any text, from a request."""
    try:
        directory = cached_directory(name)
    except ValueError:
        return None
    return directory if (directory / CARD).is_file() else None


def tokenizer_folder(name: str) -> Path | None:
    """Where the tokenizer.json of a model is on this machine: one of our own, one that was fetched, a folder."""
    if name.startswith(OWN):
        models = Path(str(files("rtl_agent"))) / "backends" / "models"
        own = models / name.removeprefix(OWN)
        return own if (own / TOKENIZER).is_file() else models / "tokenizer"  # which all others share
    folder = imported_directory(name) or Path(name)
    return folder if (folder / TOKENIZER).is_file() else None


def imported_models() -> list[Path]:
    """Every model in the cache that was fetched, by its directory's name."""
    return sorted(card.parent for card in model_cache().glob(f"*/{CARD}") if not card.parent.name.endswith(".partial"))


def read_card(directory: Path) -> ModelCard | None:
    """None where there is none, or none that can be read: then the directory is one like any other."""
    found = _json(directory / CARD)
    known: dict[str, Any] = {key: value for key, value in found.items() if type(value) is type(_EMPTY.get(key))}
    return ModelCard(**known) if "name" in known else None


def known_as(model: str) -> ModelCard | None:
    """What a model is called, by the card or the config.json of its directory; None where neither says it."""
    directory = imported_directory(model) or (Path(model) if model and _is_directory(model) else None)
    if directory is None:
        return None
    if card := read_card(directory):
        return card
    named = _json(directory / "config.json").get("_name_or_path")
    return ModelCard(named) if isinstance(named, str) and named else None


def _is_directory(model: str) -> bool:
    try:
        return Path(model).is_dir()
    except (OSError, ValueError):
        return False


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


_EMPTY = asdict(ModelCard(""))
