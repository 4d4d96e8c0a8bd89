"""What is asked: problems as data, the CVDP reader, the bundled set, selection and splits."""

from rtl_agent.problems.errors import BadRecord, NoSuchProblems
from rtl_agent.problems.harness import CocotbVersion, Harness, Service
from rtl_agent.problems.paths import why_unsafe
from rtl_agent.problems.problem import NEEDS_IN_WORDS, Kind, Needs, Problem
from rtl_agent.problems.reader import parse_record, read_problems
from rtl_agent.problems.select import Selection, Split, select, split_of
from rtl_agent.problems.sources import BUNDLED, NearMiss, bundled_path, load_near_misses, load_problems

__all__ = [
    "BUNDLED",
    "NEEDS_IN_WORDS",
    "BadRecord",
    "CocotbVersion",
    "Harness",
    "Kind",
    "NearMiss",
    "Needs",
    "NoSuchProblems",
    "Problem",
    "Selection",
    "Service",
    "Split",
    "bundled_path",
    "load_near_misses",
    "load_problems",
    "parse_record",
    "read_problems",
    "select",
    "split_of",
    "why_unsafe",
]
