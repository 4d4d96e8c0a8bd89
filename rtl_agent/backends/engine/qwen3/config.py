"""What a Qwen3 model's config.json says, as far as the network here follows it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rtl_agent.backends.engine.contract import EngineError

ROPE_THETA = 1_000_000.0


@dataclass(frozen=True)
class Qwen3Config:
    vocabulary: int
    width: int
    layers: int
    feed_forward: int
    heads: int
    kv_heads: int
    head_dim: int
    context: int
    tied: bool = True
    rope_theta: float = ROPE_THETA
    norm_eps: float = 1e-6
    end_tokens: frozenset[int] = frozenset()

    @property
    def parameters(self) -> int:
        attention = self.width * self.head_dim * 2 * (self.heads + self.kv_heads) + 2 * self.head_dim
        layer = attention + 3 * self.width * self.feed_forward + 2 * self.width
        return self.layers * layer + self.width + self.vocabulary * self.width * (1 if self.tied else 2)

    def to_json(self) -> dict[str, object]:
        """As transformers writes it, so that its Qwen3ForCausalLM loads the same directory."""
        return {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "vocab_size": self.vocabulary,
            "hidden_size": self.width,
            "num_hidden_layers": self.layers,
            "intermediate_size": self.feed_forward,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "max_position_embeddings": self.context,
            "tie_word_embeddings": self.tied,
            "rope_theta": self.rope_theta,
            "rms_norm_eps": self.norm_eps,
            "hidden_act": "silu",
            "attention_bias": False,
            "torch_dtype": "float32",
            **({"eos_token_id": sorted(self.end_tokens)} if self.end_tokens else {}),
        }


def read_config(directory: Path) -> Qwen3Config:
    path = directory / "config.json"
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise EngineError(f"{directory} is not a model directory: it has no readable config.json.") from None
    except ValueError as error:
        raise EngineError(f"{path} is not valid JSON: {error}.") from None
    if fields.get("model_type") != "qwen3":
        raise EngineError(f"{path} describes a {fields.get('model_type')!r} model; the qwen3 engine runs 'qwen3' only.")
    if fields.get("attention_bias") or fields.get("use_sliding_window"):
        raise EngineError(
            f"{path} asks for attention biases or a sliding window, which the qwen3 engine does not support."
        )
    try:
        return _config(fields)
    except KeyError as error:
        raise EngineError(f"{path} has no {error}.") from None


def _config(fields: Mapping[str, object]) -> Qwen3Config:
    def number(name: str) -> int:
        return cast(int, fields[name])

    # transformers 5 keeps rope in a dictionary of its own, earlier ones beside the rest.
    rope = cast(Mapping[str, object], fields.get("rope_parameters") or fields.get("rope_scaling") or {})
    if rope.get("rope_type", rope.get("type", "default")) != "default":
        raise EngineError(
            f"The qwen3 engine does not support scaled positions ({rope.get('rope_type', rope.get('type'))!r} rope)."
        )
    heads = number("num_attention_heads")
    ends = fields.get("eos_token_id")
    return Qwen3Config(
        vocabulary=number("vocab_size"),
        width=number("hidden_size"),
        layers=number("num_hidden_layers"),
        feed_forward=number("intermediate_size"),
        heads=heads,
        kv_heads=cast(int, fields.get("num_key_value_heads", heads)),
        head_dim=cast(int, fields.get("head_dim") or number("hidden_size") // heads),
        context=number("max_position_embeddings"),
        tied=bool(fields.get("tie_word_embeddings", False)),
        rope_theta=float(cast(float, rope.get("rope_theta", fields.get("rope_theta", ROPE_THETA)))),
        norm_eps=float(cast(float, fields.get("rms_norm_eps", 1e-6))),
        end_tokens=frozenset(ends if isinstance(ends, list) else [] if ends is None else [cast(int, ends)]),
    )
