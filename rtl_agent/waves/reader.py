"""Reads waves in a process of its own, which can be killed: JSON in, JSON out.

32 MiB of VCD take seconds of Python, in which a server could not answer, and what is read is hostile.
"""

import json
import resource
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rtl_agent.waves.vcd import VcdError
from rtl_agent.waves.window import Failure, read_windows

SECONDS = 90
_BYTES = 1536 * 1024 * 1024
_PACKAGE = Path(__file__).parents[2]


def read_in_child(
    candidate: Path, failure: Failure, reference: Path | None = None, reference_began_ns: float = 0.0
) -> dict[str, Any]:
    """`read_windows`; VcdError where it cannot be done, or not within the limits."""
    asked = {
        "candidate": str(candidate),
        "failure": asdict(failure),
        "reference": str(reference) if reference else None,
        "reference_began_ns": reference_began_ns,
    }
    # -P: what lies in the working directory is not imported.
    program = f"import sys; sys.path[:0] = [{str(_PACKAGE)!r}]; from {__name__} import main; main()"
    argv = [sys.executable, "-P", "-c", program]
    try:
        done = subprocess.run(argv, input=json.dumps(asked).encode(), capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise VcdError(f"the waves could not be read within {SECONDS} s") from None
    if done.returncode:
        raise VcdError("the waves are too large to be read here; the file can be downloaded")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "error" in answer:
        raise VcdError(answer["error"])
    return answer


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    asked = json.load(sys.stdin)
    reference = Path(asked["reference"]) if asked["reference"] else None
    try:
        answer = read_windows(
            Path(asked["candidate"]), Failure(**asked["failure"]), reference, asked["reference_began_ns"]
        )
    except VcdError as error:
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)
