"""What is asked: problems as data, where they come from, selection and splits."""

from rtl_agent.problems.cvdp import as_record, parse_record, read_problems
from rtl_agent.problems.digest import problem_digest
from rtl_agent.problems.directories import NearMiss, read_directory, read_near_misses
from rtl_agent.problems.problem import (
    NEEDS_IN_WORDS,
    BadRecord,
    CocotbVersion,
    Harness,
    Kind,
    Needs,
    NoSuchProblems,
    Problem,
    Service,
    why_unsafe,
)
from rtl_agent.problems.select import Selection, Split, choose, select, split_of
from rtl_agent.problems.sources import (
    BUNDLED,
    PROBLEM_SOURCES,
    LoadOptions,
    ProblemGenerator,
    ProblemSource,
    bundled_path,
    find_source,
    load_near_misses,
    load_problems,
)

__all__ = [
    "BUNDLED",
    "NEEDS_IN_WORDS",
    "PROBLEM_SOURCES",
    "BadRecord",
    "CocotbVersion",
    "Harness",
    "Kind",
    "LoadOptions",
    "NearMiss",
    "Needs",
    "NoSuchProblems",
    "Problem",
    "ProblemGenerator",
    "ProblemSource",
    "Selection",
    "Service",
    "Split",
    "as_record",
    "bundled_path",
    "choose",
    "find_source",
    "load_near_misses",
    "load_problems",
    "parse_record",
    "problem_digest",
    "read_directory",
    "read_near_misses",
    "read_problems",
    "select",
    "split_of",
    "why_unsafe",
]
