"""The run directory: write, resume, read, compare."""

from rtl_agent.runs.checkpoint import Checkpoint
from rtl_agent.runs.compare import Comparison, MetricPair, Summary, compare, summarise
from rtl_agent.runs.config import Difference, flatten
from rtl_agent.runs.durable import write_whole
from rtl_agent.runs.errors import RunError
from rtl_agent.runs.if_exists import IfExists
from rtl_agent.runs.record import RunRecord, list_runs, read_run
from rtl_agent.runs.run import Run

__all__ = [
    "Checkpoint",
    "Comparison",
    "Difference",
    "IfExists",
    "MetricPair",
    "Run",
    "RunError",
    "RunRecord",
    "Summary",
    "compare",
    "flatten",
    "list_runs",
    "read_run",
    "summarise",
    "write_whole",
]
