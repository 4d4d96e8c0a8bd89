"""The run directory: write, resume, read, compare."""

from rtl_agent.runs.checkpoint import Checkpoint
from rtl_agent.runs.config import Difference
from rtl_agent.runs.errors import RunError
from rtl_agent.runs.if_exists import IfExists
from rtl_agent.runs.run import Run

__all__ = ["Checkpoint", "Difference", "IfExists", "Run", "RunError"]
