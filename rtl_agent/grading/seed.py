"""One seed per (problem, submission): the same text always meets the same stimulus."""

import hashlib
import json

from rtl_agent.grading.submission import Submission
from rtl_agent.problems import Problem


def job_seed(problem: Problem, submission: Submission) -> int:
    """31 bits: cocotb 1.9 and Verilog's own $random take no more."""
    content = json.dumps([problem.id, sorted(submission.files.items())]).encode()
    return int.from_bytes(hashlib.sha256(content).digest()[:4]) >> 1
