"""tinker-cookbook's own recipe trains on our problems, which it is given by name, against our server."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import chz
import pytest
from tinker_cookbook.rl import train

from rtl_agent.backends.connect import connect
from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.problems import NoSuchProblems
from tests.backends.tiny_model import write_tiny_model

BY_NAME = "dataset_builder=rtl_agent.integrations.tinker_cookbook:RTLDatasetBuilder"
KNOWN = "Qwen/Qwen3-8B"  # to the cookbook: its recipe looks up the renderer


def builder(**options: Any) -> Any:
    """As the command line makes it."""
    words = [f"dataset_builder.{name}={value}" for name, value in options.items()]
    config = chz.Blueprint(train.Config).make_from_argv(
        [
            *("model_name=rtl-agent/student", "recipe_name=test", "learning_rate=1e-3", "max_tokens=64", "log_path=x"),
            *(BY_NAME, "dataset_builder.model_name_for_tokenizer=rtl-agent/student", *words),
        ]
    )
    return config.dataset_builder
