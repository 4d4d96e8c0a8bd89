"""A small random model with grouped queries, and an engine that runs it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import Qwen3ForCausalLM

from rtl_agent.backends.engine.qwen3.config import Qwen3Config
from rtl_agent.backends.engine.qwen3.engine import Qwen3Engine
from rtl_agent.backends.engine.qwen3.weights import random_weights, write_model

CONFIG = Qwen3Config(
    vocabulary=97, width=48, layers=2, feed_forward=80, heads=4, kv_heads=2, head_dim=16, context=512, tied=True
)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("models") / "small"
    weights = random_weights(CONFIG, 3)
    # A random model is nearly uniform; a louder head makes tokens differ, and mistakes show.
    weights["model.embed_tokens.weight"] *= 10
    write_model(directory, CONFIG, weights)
    return str(directory)


@pytest.fixture(scope="session")
def reference(small: str) -> Qwen3ForCausalLM:
    model = Qwen3ForCausalLM.from_pretrained(Path(small), dtype=torch.float32)
    model.eval()
    return model


@pytest.fixture
def engine() -> Iterator[Qwen3Engine]:
    engine = Qwen3Engine(())
    yield engine
    engine.close()
