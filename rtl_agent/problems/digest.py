"""What a problem is, as a short hash: what was kept about it holds while the hash is the same."""

import hashlib
import json

from rtl_agent.problems.problem import Problem


def problem_digest(problem: Problem) -> str:
    """Of what is asked and of what decides. A problem that was mended is asked anew."""
    services = [[service.name, list(service.argv), dict(service.env)] for service in problem.harness.services]
    parts = [problem.prompt, dict(problem.context), list(problem.targets), dict(problem.harness.files), services]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
