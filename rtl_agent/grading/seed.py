"""One seed per (problem, submission): the same text always meets the same stimulus.

The probe derives a seed from it for each simulation of the job (`derived_seed`), so that a test which a harness repeats
meets another stimulus each time.
"""

import hashlib
import json

from rtl_agent.grading.submission import Submission
from rtl_agent.problems import Problem


def job_seed(problem: Problem, submission: Submission) -> int:
    """30 bits: cocotb 1.9 and Verilog's own $random take 31, and no such number looks like today's date."""
    content = json.dumps([problem.id, sorted(submission.files.items())]).encode()
    return int.from_bytes(hashlib.sha256(content).digest()[:4]) >> 2


def service_seed(seed: int, number: int) -> int:
    """Each service of a harness has a stimulus of its own too; the first one has the job's."""
    if number == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} {number}".encode()).digest()[:4]) >> 2
