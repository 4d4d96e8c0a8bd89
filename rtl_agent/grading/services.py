"""One service of a harness, run in either simulation mode -> its verdict, with what is kept for the reader."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rtl_agent.grading.channel import Message
from rtl_agent.grading.diagnostics import icarus_diagnostics
from rtl_agent.grading.grade import Diagnostic
from rtl_agent.grading.harness_python import simulates
from rtl_agent.grading.submission import Submission
from rtl_agent.grading.syntax import SyntaxReport
from rtl_agent.grading.verdict import ServiceVerdict, judge_service
from rtl_agent.problems import Problem, Service
from rtl_agent.sandbox import CommandResult, Ended, SandboxError

_LOG_CHARACTERS = 6000
_OUTPUT_CHARACTERS = 60_000  # for somebody who asked for it: the first third, and the last two


@dataclass(frozen=True)
class ServiceRun:
    """A verdict with what is kept for the reader."""

    verdict: ServiceVerdict
    diagnostics: tuple[Diagnostic, ...]
    log: str
    cpu_seconds: float
    syntax: SyntaxReport | None


def kept_log(done: CommandResult, *, whole: bool = False) -> str:
    printed = (done.stdout + done.stderr).decode(errors="replace")
    if not whole:
        return printed[-_LOG_CHARACTERS:]
    if (left_out := len(printed) - _OUTPUT_CHARACTERS) <= 0:
        return printed
    head = _OUTPUT_CHARACTERS // 3
    return f"{printed[:head]}\n... {left_out} characters are left out ...\n{printed[head + left_out :]}"


def verdict_of(
    problem: Problem,
    service: Service,
    submission: Submission,
    expected: Sequence[str] | None,
    messages: Sequence[Message],
    done: CommandResult,
) -> tuple[ServiceVerdict, tuple[Diagnostic, ...]]:
    """The verdict, and what the compiler said where the harness could not build."""
    verdict = _judge(problem, service, expected, messages, done)
    lines = (line for said in verdict.failed_builds for line in icarus_diagnostics(said))
    return verdict, tuple(dict.fromkeys(lines))


def _judge(
    problem: Problem, service: Service, expected: Sequence[str] | None, messages: Sequence[Message], done: CommandResult
) -> ServiceVerdict:
    if expected is None:
        reasons = () if done.ok else (f"service {service.name}: {_how_ended(done)}",)
        readable = tuple(message["path"] for message in messages if message.get("kind") == "readable")
        return ServiceVerdict(service.name, done.ok, float(done.ok), reasons=reasons, readable=readable)
    if done.ok and not any(message.get("kind") == "session-end" for message in messages):
        raise SandboxError(f"service {service.name} ended well but said nothing on the channel: {last_words(done)}")
    if (fault := next((one["reason"] for one in messages if one.get("kind") == "not-judged"), None)) is not None:
        raise SandboxError(f"{problem.id} cannot be judged here: {fault}")
    verdict = judge_service(service.name, expected, messages)
    if not expected:
        verdict = replace(verdict, passed=False, reasons=(*verdict.reasons, "the harness has no tests"))
    if verdict.passed and simulates(problem, service) and not verdict.simulations:
        verdict = replace(verdict, passed=False, reasons=("no simulation reported to the grader",))
    if done.ok:
        return verdict
    ended = () if done.ended is Ended.EXITED else (f"service {service.name}: {_how_ended(done)}",)
    failure = (*ended, *verdict.reasons) or (f"service {service.name}: {_how_ended(done)}",)
    return replace(verdict, passed=False, score=min(verdict.score, 0.999), reasons=failure)


def _how_ended(done: CommandResult) -> str:
    match done.ended:
        case Ended.WALL_TIME:
            return f"stopped after {done.wall_seconds:.0f} s: the simulation does not end"
        case Ended.OUTPUT:
            return "stopped: it printed without end"
        case Ended.SIGNALLED:
            return f"killed by signal {-done.exit_code} after {done.cpu_seconds:.0f} s of CPU time"
        case Ended.EXITED:
            return f"exit code {done.exit_code}"


def last_words(done: CommandResult) -> str:
    words = (done.stderr or done.stdout).decode(errors="replace").strip()
    return f"{_how_ended(done)}; {words[-400:]}"
