"""A random model of a few thousand weights, with the package's tokenizer, in Hugging Face's layout."""

import json
import shutil
from pathlib import Path

from rtl_agent.backends.engine.qwen3.config import Qwen3Config
from rtl_agent.backends.engine.qwen3.weights import random_weights, write_model
from rtl_agent.backends.models.registry import TOKENIZER

CONTEXT = 256


def write_tiny_model(directory: Path, seed: int = 7) -> str:
    tokens = json.loads((TOKENIZER / "tokenizer.json").read_text())
    ids = [*tokens["model"]["vocab"].values(), *(token["id"] for token in tokens["added_tokens"])]
    config = Qwen3Config(
        vocabulary=max(ids) + 1, width=32, layers=2, feed_forward=64, heads=2, kv_heads=2, head_dim=16, context=CONTEXT
    )
    write_model(directory, config, random_weights(config, seed))
    for file in TOKENIZER.glob("*.json"):
        shutil.copyfile(file, directory / file.name)
    return str(directory)
