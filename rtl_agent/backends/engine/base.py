"""A base model: read once, shared by everything trained or sampled from it, never changed."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from rtl_agent.backends.engine.config import ModelConfig, read_config
from rtl_agent.backends.engine.contract import ModelInfo
from rtl_agent.backends.engine.network import Rope, rope_table
from rtl_agent.backends.engine.tokenizer import Decoder
from rtl_agent.backends.engine.weights import Weights, read_weights


@dataclass(frozen=True)
class BaseModel:
    name: str
    directory: Path
    config: ModelConfig
    weights: Weights
    rope: Rope
    device: torch.device

    @cached_property
    def decoder(self) -> Decoder:
        """Read when a request first stops on text: token-only work needs no tokenizer."""
        return Decoder(self.directory)

    @property
    def info(self) -> ModelInfo:
        return model_info(self.name, self.config)


def model_info(name: str, config: ModelConfig) -> ModelInfo:
    return ModelInfo(name, config.vocabulary, config.context, config.parameters, config.end_tokens)


def read_base(name: str, directory: Path, device: torch.device) -> BaseModel:
    config = read_config(directory)
    return BaseModel(
        name, directory, config, read_weights(directory, config, device), rope_table(config, device), device
    )
