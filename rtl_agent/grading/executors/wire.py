"""A job as JSON, on its way to a grade server, and what came back. Both sides use this module, in one version.

What comes from outside is checked by `service/schemas.py` before it is read here.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rtl_agent.grading.job import GradeJob
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.grading.submission import Submission
from rtl_agent.problems import CocotbVersion, Harness, Kind, Needs, Problem, Service

# Codes of refusals that a client acts on, beside the HTTP status.
PROBLEM_UNKNOWN, TOOLS_CHANGED = "problem_unknown", "tools_changed"


def job_to_json(job: GradeJob, *, timeout_seconds: float, path: SimulationMode) -> dict[str, Any]:
    """All but the problem."""
    return {
        "files": dict(job.submission.files),
        "refused": list(job.submission.refused),
        "seed": job.seed,
        "terms": list(job.terms),
        "simulate": job.simulate,
        "only": list(job.only),
        "output": job.output,
        "checks": job.checks,
        "timeout_seconds": timeout_seconds,
        "path": path.value,
    }


def job_from_json(data: Mapping[str, Any], problem: Problem) -> GradeJob:
    return GradeJob(
        problem,
        Submission(data["files"], tuple(data["refused"])),
        data["seed"],
        tuple(data["terms"]),
        data["simulate"],
        tuple(data["only"]),
        data["output"],
        data["checks"],
    )


def problem_to_json(problem: Problem) -> dict[str, Any]:
    """With its harness and its reference: for a server that may see them."""
    return {name: value for name, value in asdict(problem).items() if name != "source"}


def problem_from_json(data: Mapping[str, Any]) -> Problem:
    harness = data["harness"]
    services = [
        Service(one["name"], tuple(one["argv"]), one["env"], one["src_writable"]) for one in harness["services"]
    ]
    return Problem(
        **{
            **data,
            "kind": Kind(data["kind"]),
            "needs": Needs(data["needs"]),
            "targets": tuple(data["targets"]),
            "harness": Harness(harness["files"], tuple(services), CocotbVersion(harness["cocotb_version"])),
        }
    )
