"""The run directory: write, resume, read, compare."""

from rtl_agent.runs.compare import (
    HEADLINE,
    Comparison,
    Difference,
    MetricPair,
    MetricSummary,
    compare,
    first_tenth,
    flatten,
    last_tenth,
    summarise,
)
from rtl_agent.runs.directory import IfExists
from rtl_agent.runs.episode import Episode, EpisodeTurn, RolloutRecord
from rtl_agent.runs.files import RunError, write_whole
from rtl_agent.runs.record import Checkpoint, RunRecord, list_runs, read_run
from rtl_agent.runs.writer import RolloutFiles, RunWriter

__all__ = [
    "HEADLINE",
    "Checkpoint",
    "Comparison",
    "Difference",
    "Episode",
    "EpisodeTurn",
    "IfExists",
    "MetricPair",
    "MetricSummary",
    "RolloutFiles",
    "RolloutRecord",
    "RunError",
    "RunRecord",
    "RunWriter",
    "compare",
    "first_tenth",
    "flatten",
    "last_tenth",
    "list_runs",
    "read_run",
    "summarise",
    "write_whole",
]
