"""Metrics to Weights & Biases or trackio as well, where a run asks for it."""

import importlib
from collections.abc import Mapping
from typing import Any

from rtl_agent.training.config import Config
from rtl_agent.training.errors import BadConfig


class Trackers:
    """Both have the same few calls. A tracker that fails later is dropped, not the run."""

    def __init__(self, config: Config, name: str, described: Mapping[str, Any]) -> None:
        wanted = {"wandb": config.run.wandb_project, "trackio": config.run.trackio_project}
        self._open: dict[str, Any] = {}
        for module_name, project in wanted.items():
            if not project:
                continue
            try:
                module = importlib.import_module(module_name)
            except ImportError as error:
                raise BadConfig(f"{module_name}_project needs the package: pip install {module_name}") from error
            module.init(project=project, name=name, config=dict(described))
            self._open[module_name] = module

    def log(self, step: int, metrics: Mapping[str, float]) -> list[str]:
        """What went wrong, as sentences."""
        faults = []
        for name, module in list(self._open.items()):
            try:
                module.log(dict(metrics), step=step)
            except Exception as error:
                del self._open[name]
                faults.append(f"{name} failed and is left out from now on: {error}")
        return faults

    def close(self) -> None:
        for module in self._open.values():
            module.finish()
        self._open.clear()
