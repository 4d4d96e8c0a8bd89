"""`make test-quick`: a pytest plugin that keeps the tests which need neither EDA tools nor torch, and takes both away.

What is taken away cannot be used by mistake: importing torch or the Tinker SDK fails, and no tool is found.
"""

import shutil
import sys
from pathlib import Path

import pytest

KEPT = (
    "docs",
    "problems",
    "prompts",
    "properties",
    "report",
    "runs",
    "test_registry.py",
    "grading/test_extract.py",
    "grading/test_reward.py",
    "grading/test_submission.py",
    "grading/test_verdict.py",
    "grading/interface/test_compare_interface.py",
    "grading/interface/test_expected_interface.py",
)
LEFT_OUT = (
    "problems/generate/test_grades.py",
    "problems/test_cocotb_version_table.py",
    "docs/test_commands.py",
    "docs/test_plugin_points.py",
    "report/test_reference.py",  # parses designs in a real box
)
TOOLS = {"iverilog", "vvp", "yosys", "verilator", "bwrap"}

for package in ("torch", "tinker", "tinker_cookbook", "transformers", "chz"):
    sys.modules[package] = None  # type: ignore[assignment]  # the import system's own way to forbid a module

_which = shutil.which


def pytest_configure(config: pytest.Config) -> None:
    shutil.which = lambda cmd, *args, **more: None if cmd in TOOLS else _which(cmd, *args, **more)  # type: ignore[assignment]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Modules that are left out are not even imported: they may import torch."""
    tests = config.rootpath / "tests"
    if not collection_path.is_relative_to(tests):
        return None
    path = collection_path.relative_to(tests).as_posix()
    if collection_path.is_dir():
        kept = path == "." or any(f"{name}/".startswith(f"{path}/") or path.startswith(f"{name}/") for name in KEPT)
    else:
        kept = path not in LEFT_OUT and any(path == name or path.startswith(f"{name}/") for name in KEPT)
    return None if kept or collection_path.name in ("__init__.py", "conftest.py") else True
