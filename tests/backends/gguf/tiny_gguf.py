"""Small GGUF files, written by the `gguf` package's own writer from random models of transformers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from gguf import GGUFWriter
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

from rtl_agent.backends.models.registry import TOKENIZER

WIDTH, LAYERS, HEADS, KV_HEADS, HEAD_DIM, FEED_FORWARD, CONTEXT = 256, 2, 4, 2, 64, 512, 128
THETA, EPSILON = 50_000.0, 1e-5
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
CLASSES: dict[str, tuple[Any, Any]] = {
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
    "llama": (LlamaConfig, LlamaForCausalLM),
}
OURS = json.loads((TOKENIZER / "tokenizer.json").read_text())
TOKENS: dict[str, int] = OURS["model"]["vocab"] | {one["content"]: one["id"] for one in OURS["added_tokens"]}
CONTROL = {one["content"] for one in OURS["added_tokens"] if one["special"]}
ADDED = {one["content"] for one in OURS["added_tokens"]}
END = TOKENS["<|im_end|>"]


def random_model(architecture: str, *, tied: bool = True, seed: int = 0, tokens: int = 0) -> Any:
    """transformers' own, with biases and norms that are not 0 and 1."""
    config, kind = CLASSES[architecture]
    torch.manual_seed(seed)
    model = kind(
        config(
            vocab_size=tokens or max(TOKENS.values()) + 1,
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=KV_HEADS,
            head_dim=HEAD_DIM,
            intermediate_size=FEED_FORWARD,
            max_position_embeddings=CONTEXT,
            rope_theta=THETA,
            rms_norm_eps=EPSILON,
            tie_word_embeddings=tied,
        )
    ).float()
    with torch.no_grad():
        for value in model.parameters():
            value += torch.randn_like(value) * 0.05
    return model.eval()


def permuted(weights: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """As llama.cpp's converter writes Q and K of a Llama."""
    return weights.reshape(heads, 2, weights.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(weights.shape)


def write_tiny_gguf(
    path: Path,
    architecture: str = "qwen2",
    kind: Type = Type.F32,
    *,
    model: Any = None,
    name: str = "Qwen2.5 Tiny Instruct",
    pre: str = "qwen2",
    output: tuple[np.ndarray[Any, Any], Type] | None = None,
    change: Callable[[GGUFWriter], None] = lambda writer: None,
    leave_out: tuple[str, ...] = (),
    template: str = TEMPLATE,
    vocabulary: dict[str, Any] | None = None,
    said: dict[str, Any] | None = None,
) -> Any:
    """The model that was written. `said` replaces numbers of the metadata; `output` adds a matrix for the output."""
    model = model or random_model(architecture)
    numbers = {
        "context_length": CONTEXT,
        "embedding_length": WIDTH,
        "block_count": LAYERS,
        "feed_forward_length": FEED_FORWARD,
        "head_count": HEADS,
        "head_count_kv": KV_HEADS,
    } | (said or {})
    writer = GGUFWriter(path, architecture)
    writer.add_name(name)
    for key, value in numbers.items():
        getattr(writer, f"add_{key}")(value)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_rope_freq_base(THETA)
    writer.add_layer_norm_rms_eps(EPSILON)
    _add_vocabulary(writer, pre, template, vocabulary)
    change(writer)
    names = gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, architecture.upper()), LAYERS)
    for theirs, value in model.state_dict().items():
        ours = names.get_name(theirs, try_suffixes=(".weight", ".bias"))
        if ours is None or ours in leave_out or (ours == "output.weight" and model.config.tie_word_embeddings):
            continue
        data = value.detach().numpy()
        if architecture == "llama" and ("q_proj" in theirs or "k_proj" in theirs):
            data = permuted(data, HEADS if "q_proj" in theirs else KV_HEADS)
        _add(writer, ours, data, kind if data.ndim > 1 else Type.F32)
    if output is not None:
        _add(writer, "output.weight", *output)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


def _add(writer: GGUFWriter, name: str, data: np.ndarray[Any, Any], kind: Type) -> None:
    writer.add_tensor(name, data if data.dtype == np.uint8 else gguf.quants.quantize(data, kind), raw_dtype=kind)


def _add_vocabulary(writer: GGUFWriter, pre: str, template: str, given: dict[str, Any] | None) -> None:
    if given is None:
        tokens = sorted(TOKENS, key=lambda token: TOKENS[token])
        types = [3 if token in CONTROL else 4 if token in ADDED else 1 for token in tokens]
        merges = [one if isinstance(one, str) else " ".join(one) for one in OURS["model"]["merges"]]
        given = {"tokens": tokens, "types": types, "merges": merges, "eos": END}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(given["tokens"])
    writer.add_token_types(given["types"])
    writer.add_token_merges(given["merges"])
    writer.add_eos_token_id(given["eos"])
    if template:
        writer.add_chat_template(template)
