"""What to do when the run directory is there already."""

import enum
import sys
from collections.abc import Callable
from pathlib import Path

from rtl_agent.runs import layout
from rtl_agent.runs.errors import RunError, cannot


class IfExists(enum.StrEnum):
    DELETE = "delete"
    RESUME = "resume"
    ASK = "ask"
    RAISE = "raise"


def decide(path: Path, wish: IfExists, ask: Callable[[str], str] | None) -> IfExists:
    """DELETE or RESUME for a run that is there, RAISE ("there was none") for a new one."""
    try:
        if layout.is_unused(path):
            return IfExists.RAISE
    except OSError as error:
        raise cannot("use", path, error) from error
    if not layout.is_run(path):
        raise RunError(
            f"{path} has files in it and is not a run directory; nothing was changed, choose another log_path"
        )
    if wish is IfExists.ASK:
        wish = _answer(path, ask)
    if wish is IfExists.RAISE:
        raise RunError(
            f"{path} holds a run already: resume it with behavior_if_log_dir_exists=resume, replace it with "
            "behavior_if_log_dir_exists=delete, or choose another log_path"
        )
    return wish


def _answer(path: Path, ask: Callable[[str], str] | None) -> IfExists:
    if ask is None:
        if not sys.stdin or not sys.stdin.isatty():
            raise RunError(
                f"{path} holds a run already, and there is no terminal to ask what to do with it: give "
                "behavior_if_log_dir_exists=resume, delete or raise"
            )
        ask = input
    while True:
        answer = ask(f"{path} holds a run already. resume, delete or quit? ").strip().lower()
        if answer in (IfExists.RESUME, IfExists.DELETE):
            return IfExists(answer)
        if answer in ("quit", "q", "exit", ""):
            raise RunError(f"stopped: {path} holds a run already, and it was left as it is")
