"""Which architectures can be imported: their config.json, and each tensor's name and order of rows.

Of a tensor nothing is guessed: the names and shapes that the configuration calls for must all be there, and no others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtl_agent.backends.gguf.header import BadGguf, GgufFile, TensorInfo

MOST = 1 << 24  # of any size in a configuration: widths, heads, tokens of context


@dataclass(frozen=True)
class Kind:
    """One architecture: what transformers calls it, and how it differs from the others."""

    model_type: str
    class_name: str
    biases: bool = False  # of Q, K and V
    head_norms: bool = False  # of Q and K
    permuted: bool = False  # llama.cpp interleaves the two halves of each head of Q and K


ARCHITECTURES: Mapping[str, Kind] = {
    "llama": Kind("llama", "LlamaForCausalLM", permuted=True),
    "qwen2": Kind("qwen2", "Qwen2ForCausalLM", biases=True),
    "qwen3": Kind("qwen3", "Qwen3ForCausalLM", head_norms=True),
}


@dataclass(frozen=True)
class Target:
    """A tensor as Hugging Face has it. `heads`: its rows are put back in order, head by head."""

    name: str
    shape: tuple[int, ...]
    heads: int = 0

    def source_rows(self, first: int, last: int) -> "np.ndarray[Any, np.dtype[np.int64]] | None":
        """Which rows of the file are rows first to last of the tensor; None: the same ones.

        llama.cpp has row 2i + j of a head where Hugging Face has row i + j * half.
        """
        if not self.heads:
            return None
        size = self.shape[0] // self.heads
        head, inside = np.divmod(np.arange(first, last), size)
        half, at = np.divmod(inside, size // 2)
        return np.asarray(head * size + 2 * at + half, np.int64)


@dataclass(frozen=True)
class Model:
    """What a file's metadata says, checked."""

    kind: Kind
    layers: int
    width: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_dim: int
    context: int
    vocabulary: int
    rope_theta: float
    norm_eps: float

    def config(self, *, tied: bool, dtype: str) -> dict[str, Any]:
        """config.json, in the words that transformers 4 and 5 both read."""
        return {
            "architectures": [self.kind.class_name],
            "model_type": self.kind.model_type,
            "vocab_size": self.vocabulary,
            "hidden_size": self.width,
            "num_hidden_layers": self.layers,
            "intermediate_size": self.feed_forward,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "max_position_embeddings": self.context,
            "tie_word_embeddings": tied,
            "rope_theta": self.rope_theta,
            "rms_norm_eps": self.norm_eps,
            "hidden_act": "silu",
            "torch_dtype": dtype,
            # In whose words this is written; without it transformers 5 takes any directory for a Mistral, and warns.
            "transformers_version": "4.51.0",
        }

    def targets(self) -> dict[str, Target]:
        """GGUF's name -> the tensor as it is to be; lm_head is among them only for the file that has one."""
        found = {
            "token_embd.weight": Target("model.embed_tokens.weight", (self.vocabulary, self.width)),
            "output_norm.weight": Target("model.norm.weight", (self.width,)),
            "output.weight": Target("lm_head.weight", (self.vocabulary, self.width)),
        }
        for layer in range(self.layers):
            for name, (part, shape, heads) in self._layer().items():
                found[f"blk.{layer}.{name}"] = Target(f"model.layers.{layer}.{part}", shape, heads)
        return found

    def _layer(self) -> dict[str, tuple[str, tuple[int, ...], int]]:
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        found: dict[str, tuple[str, tuple[int, ...], int]] = {
            "attn_norm.weight": ("input_layernorm.weight", (self.width,), 0),
            "attn_output.weight": ("self_attn.o_proj.weight", (self.width, queries), 0),
            "ffn_norm.weight": ("post_attention_layernorm.weight", (self.width,), 0),
            "ffn_gate.weight": ("mlp.gate_proj.weight", (self.feed_forward, self.width), 0),
            "ffn_up.weight": ("mlp.up_proj.weight", (self.feed_forward, self.width), 0),
            "ffn_down.weight": ("mlp.down_proj.weight", (self.width, self.feed_forward), 0),
        }
        for name, rows, heads in (("q", queries, self.heads), ("k", keys, self.kv_heads), ("v", keys, 0)):
            order = heads if self.kind.permuted else 0
            found[f"attn_{name}.weight"] = (f"self_attn.{name}_proj.weight", (rows, self.width), order)
            if self.kind.biases:
                found[f"attn_{name}.bias"] = (f"self_attn.{name}_proj.bias", (rows,), 0)
            if self.kind.head_norms and name != "v":
                found[f"attn_{name}_norm.weight"] = (f"self_attn.{name}_norm.weight", (self.head_dim,), 0)
        return found


def read_model(file: GgufFile) -> Model:
    """The model of a file whose tensors are all there. BadGguf says what is wrong."""
    name = file.fields.get("general.architecture")
    kind = ARCHITECTURES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise BadGguf(
            f"{file.path} cannot be imported: its architecture is {str(name)[:40]!r}, and {', '.join(ARCHITECTURES)} "
            "are known."
        )
    if _whole(file, "split.count", 1) > 1:
        raise BadGguf(
            f"{file.path} is one of {file.fields['split.count']} parts: join them with llama.cpp's "
            "`llama-gguf-split --merge`, and import the result."
        )
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None or len(embedding.shape) != 2:
        raise BadGguf(f"{file.path} cannot be imported: it has no matrix token_embd.weight.")
    heads, width = _whole(file, f"{name}.attention.head_count"), _whole(file, f"{name}.embedding_length")
    model = Model(
        kind,
        layers=_whole(file, f"{name}.block_count"),
        width=width,
        feed_forward=_whole(file, f"{name}.feed_forward_length"),
        heads=heads,
        kv_heads=_whole(file, f"{name}.attention.head_count_kv", heads),
        head_dim=_whole(file, f"{name}.attention.key_length", width // heads),
        context=_whole(file, f"{name}.context_length"),
        vocabulary=embedding.shape[0],
        rope_theta=_real(file, f"{name}.rope.freq_base", 10_000.0),
        norm_eps=_real(file, f"{name}.attention.layer_norm_rms_epsilon", None),
    )
    _check_positions(file, str(name), model)
    _check_tensors(file, model)
    return model


def _check_positions(file: GgufFile, name: str, model: Model) -> None:
    scaling = file.fields.get(f"{name}.rope.scaling.type", "none")
    if scaling != "none" or "rope_freqs.weight" in file.tensors:
        raise BadGguf(
            f"{file.path} cannot be imported: its positions are scaled "
            f"({'rope_freqs.weight' if scaling == 'none' else str(scaling)[:40]}), and only plain ones are known."
        )
    turned = _whole(file, f"{name}.rope.dimension_count", model.head_dim)
    values = _whole(file, f"{name}.attention.value_length", model.head_dim)
    if turned != model.head_dim or values != model.head_dim or model.head_dim % 2 or model.heads % model.kv_heads:
        raise BadGguf(
            f"{file.path} cannot be imported: {model.heads} heads of {model.head_dim} ({values} for values, {turned} "
            f"turned by position) over {model.kv_heads} of keys are not what {name} models have."
        )


def _check_tensors(file: GgufFile, model: Model) -> None:
    if model.layers > len(file.tensors):  # before a table of them is made
        raise BadGguf(
            f"{file.path} cannot be imported: it has {len(file.tensors)} tensors for {model.layers:,} layers."
        )
    targets = model.targets()
    if others := sorted(set(file.tensors) - set(targets)):
        raise BadGguf(
            f"{file.path} cannot be imported: a {model.kind.model_type} model has no tensor {others[0][:100]}"
            f"{f' (and {len(others) - 1} others)' if others[1:] else ''}."
        )
    if missing := sorted(set(targets) - set(file.tensors) - {"output.weight"}):
        raise BadGguf(f"{file.path} cannot be imported: the tensor {missing[0]} is missing.")
    for name, info in file.tensors.items():
        if info.shape != targets[name].shape:
            raise BadGguf(
                f"{file.path} cannot be imported: the tensor {name} has the shape {_shown(info)}, where the metadata "
                f"calls for {' x '.join(map(str, targets[name].shape))}."
            )


def _shown(info: TensorInfo) -> str:
    return " x ".join(map(str, info.shape))


def _whole(file: GgufFile, key: str, default: int | None = None) -> int:
    found = file.fields.get(key, default)
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= MOST:
        raise BadGguf(f"{file.path} cannot be imported: {key} is {str(found)[:40]}, not a number from 1 to {MOST:,}.")
    return found


def _real(file: GgufFile, key: str, default: float | None) -> float:
    found = file.fields.get(key, default)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < 1e12:
        raise BadGguf(f"{file.path} cannot be imported: {key} is {str(found)[:40]}, not a positive number.")
    # 1e-6 in 32 bits reads as 9.999999974752427e-07
    return float(np.format_float_positional(np.float32(found), unique=True))
