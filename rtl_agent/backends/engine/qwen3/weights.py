"""A model's weights by their Hugging Face names: read from a directory, or made at random from a seed."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from rtl_agent.backends.engine.contract import EngineError
from rtl_agent.backends.engine.optimizer import Weights as Weights
from rtl_agent.backends.engine.qwen3.config import Qwen3Config

EMBED = "model.embed_tokens"
HEAD = "lm_head"
NORM = "model.norm"
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
MLP = ("gate_proj", "up_proj", "down_proj")


def layer(index: int) -> str:
    return f"model.layers.{index}"


def shapes(config: Qwen3Config) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every weight's name and shape, in the order in which random ones are drawn."""
    queries, keys = config.heads * config.head_dim, config.kv_heads * config.head_dim
    yield f"{EMBED}.weight", (config.vocabulary, config.width)
    for index in range(config.layers):
        prefix = layer(index)
        yield f"{prefix}.input_layernorm.weight", (config.width,)
        yield f"{prefix}.self_attn.q_proj.weight", (queries, config.width)
        yield f"{prefix}.self_attn.k_proj.weight", (keys, config.width)
        yield f"{prefix}.self_attn.v_proj.weight", (keys, config.width)
        yield f"{prefix}.self_attn.o_proj.weight", (config.width, queries)
        yield f"{prefix}.self_attn.q_norm.weight", (config.head_dim,)
        yield f"{prefix}.self_attn.k_norm.weight", (config.head_dim,)
        yield f"{prefix}.post_attention_layernorm.weight", (config.width,)
        yield f"{prefix}.mlp.gate_proj.weight", (config.feed_forward, config.width)
        yield f"{prefix}.mlp.up_proj.weight", (config.feed_forward, config.width)
        yield f"{prefix}.mlp.down_proj.weight", (config.width, config.feed_forward)
    yield f"{NORM}.weight", (config.width,)
    if not config.tied:
        yield f"{HEAD}.weight", (config.vocabulary, config.width)


def read_weights(directory: Path, config: Qwen3Config, device: torch.device) -> Weights:
    found: Weights = {}
    for path in _files(directory):
        try:
            found.update(load_file(path, device=str(device)))
        except (SafetensorError, OSError) as error:
            raise EngineError(f"The weights in {path} cannot be read: {error}.") from None
    weights: Weights = {}
    for name, shape in shapes(config):
        if name not in found:
            raise EngineError(f"{directory} has no weight {name!r}, which its config.json requires.")
        if found[name].shape != shape:
            raise EngineError(
                f"Weight {name!r} in {directory} has shape {tuple(found[name].shape)}; config.json says {shape}."
            )
        weights[name] = found[name].to(torch.float32)
    return weights


def _files(directory: Path) -> list[Path]:
    index = directory / "model.safetensors.index.json"
    if index.is_file():
        try:
            names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (ValueError, KeyError, AttributeError):
            raise EngineError(f"{index} is not an index of weight files.") from None
        return [directory / name for name in sorted(names)]
    if not (directory / "model.safetensors").is_file():
        raise EngineError(f"{directory} has no model.safetensors (nor an index of several).")
    return [directory / "model.safetensors"]


def random_weights(config: Qwen3Config, seed: int) -> Weights:
    """Projections keep their input's scale; the two that add to the residual stream shrink with the depth."""
    generator = torch.Generator().manual_seed(seed)
    weights: Weights = {}
    for name, shape in shapes(config):
        if len(shape) == 1:
            weights[name] = torch.ones(shape)
            continue
        scale = 0.02 if EMBED in name or name.startswith(HEAD) else 1 / math.sqrt(shape[1])
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            scale /= math.sqrt(2 * config.layers)
        weights[name] = torch.randn(shape, generator=generator) * scale
    return weights


def write_model(directory: Path, config: Qwen3Config, weights: Weights) -> None:
    """config.json and model.safetensors, as Hugging Face lays them out."""
    directory.mkdir(parents=True, exist_ok=True)
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "config.json").write_text(json.dumps(config.to_json(), indent=2) + "\n", encoding="utf-8")
