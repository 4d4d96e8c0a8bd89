"""Random models of a few thousand weights, one of each architecture that the transformers engine is tried with."""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
import transformers

VOCABULARY = 97
CONTEXT = 512
WINDOW = 8  # shorter than the sequences of the tests, so that it shows

_SMALL: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": CONTEXT,
    "bos_token_id": 1,
    "eos_token_id": 96,
    "pad_token_id": 0,
}
_EXPERTS = {"num_experts_per_tok": 2}
ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen2": ("qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("qwen3", {"tie_word_embeddings": True}),
    "qwen3_moe": ("qwen3_moe", {"num_experts": 4, "moe_intermediate_size": 16, **_EXPERTS}),
    "llama": ("llama", {}),
    "gpt_oss": ("gpt_oss", {"num_local_experts": 4, "intermediate_size": 16, "sliding_window": WINDOW, **_EXPERTS}),
    "gemma3": (
        "gemma3_text",
        {
            "sliding_window": WINDOW,
            "layer_types": ["sliding_attention", "full_attention"],
            "query_pre_attn_scalar": 8,
        },
    ),
}
"""transformers' model_type, and what differs from the common sizes."""


def write_architecture(
    name: str, directory: Path, dtype: torch.dtype = torch.float32, tokenizer: Path | None = None
) -> str:
    """`tokenizer`: a folder whose JSON files go along; the vocabulary is its own then."""
    kind, others = ARCHITECTURES[name]
    config: Any = transformers.AutoConfig.for_model(kind, **(_SMALL | others))
    if tokenizer is not None:
        tokens = json.loads((tokenizer / "tokenizer.json").read_text())
        ids = [*tokens["model"]["vocab"].values(), *(token["id"] for token in tokens["added_tokens"])]
        config.vocab_size = max(ids) + 1
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    generator = torch.Generator().manual_seed(2)
    for which, value in model.named_parameters():
        # Louder than transformers draws them: a random model is nearly uniform, and mistakes would not show.
        if "norm" not in which:
            value.data = torch.randn(value.shape, generator=generator) * (0.3 if value.dim() > 1 else 0.1)
    model.to(dtype).save_pretrained(directory)
    for file in tokenizer.glob("*.json") if tokenizer is not None else ():
        shutil.copyfile(file, directory / file.name)
    return str(directory)
