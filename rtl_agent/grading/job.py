"""One piece of grading as data, and the seed of its stimulus: the same text always meets the same one.

The probe derives a seed from it for each simulation of the job (`derived_seed`), so that a test which a harness repeats
meets another stimulus each time.
"""

import hashlib
import json
from dataclasses import dataclass

from rtl_agent.grading.grade import Grade, Outcome
from rtl_agent.grading.submission import Submission
from rtl_agent.problems import Problem


@dataclass(frozen=True)
class GradeJob:
    """All that a judge needs, as data that can be sent to another machine. It has no weights: rewards come after."""

    problem: Problem
    submission: Submission
    seed: int
    terms: tuple[str, ...] = ()  # reward terms to ask, by name
    simulate: bool = True  # False: nothing rests on the tests, so the design is only compiled
    only: tuple[str, ...] = ()  # patterns of the tests that are asked for (partial.py); none: all
    output: bool = False  # keep what every tool printed, not the last words of the first failing service alone
    checks: bool = False  # count what the checks of each test find

    @property
    def is_by_hand(self) -> bool:
        """Whether somebody looks into one grade: it is made on the exact path, and no cache has it or gets it."""
        return bool(self.only) or self.output


def error_grade(job: GradeJob, reason: str) -> Grade:
    return Grade(job.problem.id, Outcome.ERROR, reasons=(reason,), seed=job.seed)


def job_seed(problem: Problem, submission: Submission) -> int:
    """30 bits: cocotb 1.9 and Verilog's own $random take 31, and no such number looks like today's date."""
    content = json.dumps([problem.id, sorted(submission.files.items())]).encode()
    return int.from_bytes(hashlib.sha256(content).digest()[:4]) >> 2


def service_seed(seed: int, number: int) -> int:
    """Each service of a harness has a stimulus of its own too; the first one has the job's."""
    if number == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} {number}".encode()).digest()[:4]) >> 2
