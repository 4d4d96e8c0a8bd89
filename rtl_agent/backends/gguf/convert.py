"""A GGUF file -> a model directory in Hugging Face's layout, written beside its place and renamed when complete."""

import json
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from rtl_agent.backends.gguf.architectures import read_model
from rtl_agent.backends.gguf.header import BadGguf, GgufFile
from rtl_agent.backends.gguf.vocabulary import Vocabulary, check_loads, read_vocabulary
from rtl_agent.backends.gguf.weights import DType, size_of, sources, write_weights
from rtl_agent.local_models import ModelCard

BESIDE_THE_WEIGHTS = 32 * 1024 * 1024  # the tokenizer's files; Qwen's have 12 MB


@dataclass(frozen=True)
class Imported:
    """What was made of a file."""

    directory: Path
    card: ModelCard
    tied: bool


class NoRoom(BadGguf):
    """The disk has too little free space."""

    def __init__(self, what: str, needed: int, where: Path) -> None:
        free = shutil.disk_usage(where).free
        super().__init__(
            f"{what} needs {needed / 1e9:,.2f} GB, and {where} has {free / 1e9:,.2f} GB free: make room, or name "
            "another place (XDG_CACHE_HOME for the cache)."
        )


def check_room(what: str, needed: int, where: Path) -> None:
    """NoRoom unless the disk of a folder, or of the nearest above it that exists, has so many bytes."""
    place = next(folder for folder in (where.absolute(), *where.absolute().parents) if folder.is_dir())
    if shutil.disk_usage(place).free < needed:
        raise NoRoom(what, needed, place)


def import_gguf(
    source: Path,
    out: Path,
    *,
    card: ModelCard | None = None,
    dtype: DType = "bfloat16",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Imported:
    """`progress` gets the weights that are written, and how many there are. BadGguf says what is wrong.

    `card` names the model and its renderer; without it, the file's own metadata do.
    """
    if out.exists() or out.is_symlink():
        raise BadGguf(f"{out} exists already: name another directory, or remove it.")
    with GgufFile(source) as file:
        model = read_model(file)
        vocabulary = read_vocabulary(file, model.vocabulary)
        chosen, tied = sources(file, model)
        check_room(f"The model in {dtype}", size_of(model, chosen, dtype) + BESIDE_THE_WEIGHTS, out.parent)
        tokenizer = json.dumps(vocabulary.tokenizer, ensure_ascii=False)
        check_loads(tokenizer, file)
        total = sum(prod(info.shape) for info in chosen.values())
        known = replace(
            card or ModelCard(own_name(file), source=str(source.name)),
            chats=vocabulary.chats,
            architecture=model.kind.class_name,
            dtype=dtype,
            parameters=total,
        )
        beside = out.with_name(f"{out.name}.{secrets.token_hex(6)}.partial")
        try:
            beside.mkdir(parents=True)
            done = 0

            def written(more: int) -> None:
                nonlocal done
                done += more
                progress(done, total)

            write_weights(file, model, chosen, beside / "model.safetensors", dtype, written)
            (beside / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
            for name, content in _json_files(model.config(tied=tied, dtype=dtype), vocabulary, known).items():
                (beside / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            known.write(beside)
            _flush(beside)
            beside.rename(out)
        except OSError as error:
            raise BadGguf(f"{out} could not be written: {error.strerror or error}.") from None
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return Imported(out, known, tied)


def own_name(file: GgufFile) -> str:
    """What a file calls its model, in one word: `Qwen2.5-Coder-1.5B-Instruct`; else the file's name."""
    said = file.fields.get("general.name")
    name = said if isinstance(said, str) and said.strip() else file.path.stem
    plain = "".join(mark if mark.isascii() and (mark.isalnum() or mark in "._-") else "-" for mark in name.strip())
    return plain[:96].strip("-.").removesuffix("-GGUF") or "model"


def _json_files(config: dict[str, Any], vocabulary: Vocabulary, card: ModelCard) -> dict[str, dict[str, Any]]:
    roles: dict[str, Any] = {"eos_token_id": vocabulary.ends}
    if vocabulary.bos is not None:
        roles["bos_token_id"] = vocabulary.bos
    return {
        "config.json": config | roles | {"_name_or_path": card.name},
        "generation_config.json": roles | {"_from_model_config": False},
        "tokenizer_config.json": vocabulary.config,
    }


def _flush(directory: Path) -> None:
    """To the disk before the name: a machine that loses power keeps either nothing or all of it."""
    for path in directory.iterdir():
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
