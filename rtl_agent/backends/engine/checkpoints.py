"""Checkpoints on disk, of any engine: safetensors and one JSON file, complete or not there at all.

Adapters carry PEFT's names (adapter_model.safetensors), whole models Hugging Face's (model.safetensors). Engines that
run the same model read each other's.
"""

import json
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes

from rtl_agent.backends.engine.contract import EngineError, Lora
from rtl_agent.backends.engine.optimizer import Optimizer, Weights

FORMAT = 1
ABOUT = "checkpoint.json"
OPTIMIZER = "optimizer.safetensors"
_PEFT = "base_model.model."
ALPHA = 32.0
"""As Tinker and PEFT have it: an adapter's product is scaled by ALPHA / rank."""


class Parameters(Protocol):
    """What is trained: leaf tensors by name, PEFT's names without its prefix."""

    lora: Lora

    @property
    def values(self) -> Weights: ...

    @property
    def base_name(self) -> str: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def peft_targets(self) -> Mapping[str, Sequence[str]]:
        """target_modules and the like, for adapter_config.json."""


def save(directory: Path, parameters: Parameters, optimizer: Optimizer | None) -> None:
    name, values = _weights_on_disk(parameters)
    files = {name: to_bytes(values)}
    about: dict[str, object] = {
        "format": FORMAT,
        "base": parameters.base_name,
        "lora": asdict(parameters.lora),
        "optimizer_steps": None,
    }
    if parameters.lora.rank:
        peft = {"peft_type": "LORA", "r": parameters.lora.rank, "lora_alpha": ALPHA, **parameters.peft_targets}
        files["adapter_config.json"] = json.dumps({"base_model_name_or_path": parameters.base_name, **peft}).encode()
    if optimizer is not None:
        moments = {f"first.{name}": value for name, value in optimizer.first.items()}
        moments |= {f"second.{name}": value for name, value in optimizer.second.items()}
        files[OPTIMIZER] = to_bytes({name: value.contiguous().cpu() for name, value in moments.items()})
        about["optimizer_steps"] = optimizer.steps
    files[ABOUT] = json.dumps(about, indent=2).encode()
    _write(directory, files)


def _weights_on_disk(parameters: Parameters) -> tuple[str, Weights]:
    values = {name: value.detach().contiguous().cpu() for name, value in parameters.values.items()}
    if not parameters.lora.rank:
        return "model.safetensors", values
    return "adapter_model.safetensors", {_PEFT + name: value for name, value in values.items()}


def _write(directory: Path, files: Mapping[str, bytes]) -> None:
    beside = directory.with_name(f".{directory.name}.{secrets.token_hex(6)}.partial")
    try:
        beside.mkdir(parents=True)
        for name, content in files.items():
            with (beside / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        _sync(beside)
        _put(beside, directory)
    except OSError as error:
        shutil.rmtree(beside, ignore_errors=True)
        raise EngineError(
            f"The checkpoint {directory} could not be written: {error.strerror}. Nothing of it was kept; free some "
            "space or choose another place, and save again."
        ) from None


def _put(beside: Path, directory: Path) -> None:
    """A checkpoint already there is moved away first: a directory cannot be renamed onto one that has files."""
    old = directory.with_name(beside.name.removesuffix(".partial") + ".old")
    if directory.exists():
        directory.rename(old)
    beside.rename(directory)
    _sync(directory.parent)
    shutil.rmtree(old, ignore_errors=True)


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def saved_lora(directory: Path, base: str) -> Lora:
    """What kind of training wrote this checkpoint. It must have been over `base`."""
    about = _about(directory)
    if about.get("base") != base:
        raise EngineError(f"The checkpoint {directory} was trained from {about.get('base')!r}, not from {base!r}.")
    return Lora(**cast(dict[str, Any], about["lora"]))


def _about(directory: Path) -> dict[str, object]:
    try:
        about = json.loads((directory / ABOUT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EngineError(f"There is no checkpoint in {directory}.") from None
    except (OSError, ValueError) as error:
        raise EngineError(f"The checkpoint {directory} cannot be read: {error}.") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise EngineError(f"The checkpoint {directory} does not have format {FORMAT}, the one that this version reads.")
    return about


def load(directory: Path, parameters: Parameters, optimizer: Optimizer | None) -> None:
    """Into `parameters` (and `optimizer`), which stay as they are if anything does not fit."""
    saved, wanted = saved_lora(directory, parameters.base_name), parameters.lora
    if _trains(saved) != _trains(wanted):
        raise EngineError(
            f"The checkpoint {directory} has {_said(saved)}; the model it should go into has {_said(wanted)}."
        )
    name = "adapter_model.safetensors" if wanted.rank else "model.safetensors"
    weights = {key.removeprefix(_PEFT): value for key, value in _read(directory / name).items()}
    _fits(directory, weights, parameters.values)
    if optimizer is not None:
        steps = _about(directory)["optimizer_steps"]
        if steps is None:
            raise EngineError(f"The checkpoint {directory} was saved without the optimizer's state.")
        moments = _read(directory / OPTIMIZER)
        parts = [{n: moments.get(f"{part}.{n}") for n in parameters.values} for part in ("first", "second")]
        for part in parts:
            _fits(directory, part, parameters.values)
        device = parameters.device
        first, second = ({n: cast(torch.Tensor, v).to(device) for n, v in part.items()} for part in parts)
        optimizer.restore(cast(int, steps), first, second)
    with torch.no_grad():
        for key, value in parameters.values.items():
            value.copy_(weights[key])


def _trains(lora: Lora) -> tuple[int, bool, bool, bool]:
    """The seed only made the first values; it does not matter any more."""
    return (lora.rank, lora.attention, lora.mlp, lora.unembed) if lora.rank else (0, True, True, True)


def _said(lora: Lora) -> str:
    if not lora.rank:
        return "all weights (rank 0)"
    parts = [name for name in ("attention", "mlp", "unembed") if getattr(lora, name)]
    return f"LoRA of rank {lora.rank} on {', '.join(parts)}"


def _read(path: Path) -> Weights:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise EngineError(f"{path} cannot be read: {error}.") from None


def _fits(directory: Path, found: Mapping[str, torch.Tensor | None], wanted: Weights) -> None:
    for name, value in wanted.items():
        have = found.get(name)
        if have is None or have.shape != value.shape:
            raise EngineError(f"The checkpoint {directory} does not fit: {name!r} is missing or has another shape.")
