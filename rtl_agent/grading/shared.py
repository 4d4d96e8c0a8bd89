"""One grader for a whole process: for frameworks that call from many places and say nowhere when they are done."""

import os
from dataclasses import dataclass
from functools import cache

from rtl_agent.grading.cache import GradeCache, default_cache_path
from rtl_agent.grading.executors import LOCAL
from rtl_agent.grading.reward import parse_weights
from rtl_agent.grading.submission import DEFAULT_EXTRACTION, Extraction
from rtl_agent.grading.sync_grader import SyncGrader


@dataclass(frozen=True)
class GraderOptions:
    """How answers are graded, as data that can be sent to another process.

    Args:
        reward: reward preset, with weights over it, as `parse_weights` reads them.
        jobs: grades at a time; 0: one for each core.
        executor: local, ray, or `http://HOST:PORT` of a grade server.
        timeout_seconds: maximum seconds of each service of a harness.
        extraction: how files are read from a reply: forgiving or cvdp.
    """

    reward: str = "staged"
    jobs: int = 0
    executor: str = LOCAL
    timeout_seconds: float = 120.0
    extraction: str = DEFAULT_EXTRACTION.value


@cache
def shared_grader(options: GraderOptions = GraderOptions()) -> SyncGrader:  # frozen
    """The grader of this process for these options: made at the first call, closed when the process ends.

    Any thread and any event loop may ask it. Grades come from, and go to, the cache that the commands use.

    Args:
        options: equal options have one grader.

    Example:
        >>> import rtl_agent as ra
        >>> grader = ra.shared_grader(ra.GraderOptions(reward="binary"))
        >>> grader.grade_reply(ra.load_problems("bundled")[0], "I would rather not.").outcome
        <Outcome.INVALID: 'invalid'>
        >>> grader is ra.shared_grader(ra.GraderOptions(reward="binary"))
        True
    """
    return SyncGrader(
        weights=parse_weights(options.reward),
        jobs=options.jobs or None,
        timeout_seconds=options.timeout_seconds,
        executor=options.executor,
        cache=GradeCache(default_cache_path()),
        extraction=Extraction(options.extraction),
    )


os.register_at_fork(after_in_child=shared_grader.cache_clear)  # its thread stays with the parent
