"""Does it compile, by the simulator that will run the tests; what Verilator has to say where it does not."""

from collections.abc import Mapping
from dataclasses import dataclass

from rtl_agent.grading.diagnostics import icarus_diagnostics, verilator_diagnostics
from rtl_agent.grading.grade import Diagnostic
from rtl_agent.grading.submission import Submission
from rtl_agent.grading.workspace import RUNDIR
from rtl_agent.problems import Problem, Service
from rtl_agent.sandbox import Box, Limits

# A macro bomb costs the compiler 14 CPU s under a 4 s limit per process: the wall clock decides.
_LIMITS = Limits(wall_seconds=20, cpu_seconds=15)


@dataclass(frozen=True)
class SyntaxReport:
    passed: bool
    diagnostics: tuple[Diagnostic, ...]
    said: str
    cpu_seconds: float


async def check_syntax(
    box: Box, problem: Problem, service: Service, submission: Submission, env: Mapping[str, str]
) -> SyntaxReport:
    """Compile a service's sources as cocotb's runner would, with the design's own parameters."""
    sources = service.env.get("VERILOG_SOURCES", "").split() or design_files(problem, submission)
    top = service.env.get("TOPLEVEL", "")
    roots = ["-s", top] if top else []
    done = await box.run(["iverilog", "-g2012", "-t", "null", *roots, *sources], env=env, cwd=RUNDIR, limits=_LIMITS)
    said = (done.stdout + done.stderr).decode(errors="replace").strip()
    diagnostics, cpu = icarus_diagnostics(said), done.cpu_seconds
    if not done.ok:
        roots = ["--top-module", top] if top else []
        lint = await box.run(
            ["verilator", "--lint-only", "--no-std-waiver", "-Wno-fatal", "-Wno-lint", "-Wno-style", *roots, *sources],
            env=env,
            cwd=RUNDIR,
            limits=_LIMITS,
        )
        cpu += lint.cpu_seconds
        diagnostics += verilator_diagnostics((lint.stdout + lint.stderr).decode(errors="replace"))
    return SyntaxReport(done.ok, diagnostics, said, cpu)


def design_files(problem: Problem, submission: Submission) -> list[str]:
    """For a harness that names its sources in Python only: what was written, and the design files it was given."""
    beside = (path for path in submission.workspace(problem) if path.startswith("rtl/"))
    paths = dict.fromkeys([*submission.files, *beside])
    return [f"/code/{path}" for path in paths if path.endswith((".sv", ".v"))]
