"""A grade as its author may see it: which tests failed and in what words, nothing of the harness that asked.

Harnesses quote themselves: pytest explains an assertion by the expressions in it, tracebacks show lines, messages name
files. A model that reads them learns the tests instead of the specification.
"""

import re
from collections.abc import Iterable, Iterator

from rtl_agent.grading import Diagnostic, Grade, Outcome, StageName, TestResult
from rtl_agent.grading.diagnostics import icarus_diagnostics
from rtl_agent.problems import Problem

MOST_TESTS, MOST_DIAGNOSTICS, MOST_CHARACTERS = 12, 12, 300
_UNSAID = "failed without a message"
_BUILD = "it does not compile: "  # before the compiler's first line, as the grader has it
_BUILD_OF_TESTS = "it does not compile together with the tests"  # the line is about a file of theirs
_QUOTED = re.compile(r"^(?:assert\b|\+\s|>|E\s|Traceback\b|File\s|\^|[-?]\s)")  # how pytest and Python show code
_OWN = re.compile(r"/code/(?=(?:rtl|docs|verif)/)")
_PATH = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)*[\w.+-]+(?::\d+)*")
_PARAMETERS = re.compile(r"\[|/\w+=")  # where they begin: `test_x[8-3]` of pytest, `test_x/width=8/sum=3` of cocotb 2
_WIDTH = re.compile(
    r"\[\s*(\d{1,4})\s*:\s*0\s*\]|\b(\d{1,4})[ -]?bits?\b|\bparameter\b[^;,=)\n]{0,80}=\s*(\d{1,4})\b", re.IGNORECASE
)
_VALUE = re.compile(r"(?<![\w.])(?:0[xXbB])?[0-9a-fA-FxXzZ_]*\d[0-9a-fA-FxXzZ_]*(?!\w)")
_MANY = re.compile(r"((?:\b[0-9a-fA-FxXzZ_]+(?:,\s*|\s+)){16})[0-9a-fA-FxXzZ_]+(?:(?:,\s*|\s+)[0-9a-fA-FxXzZ_]+)*\b")
_SHORT = 10  # decimal digits that a value may have in any case: times and counts
_CODE_LINE = 10  # characters; a shorter line of a harness (`else:`) is in many sentences


class Sanitiser:
    """Takes the harness of one problem out of texts."""

    def __init__(self, problem: Problem) -> None:
        files = problem.harness.files
        lines = {line.strip() for text in files.values() for line in text.splitlines()}
        shown = "\n".join((problem.prompt, *problem.context.values()))
        self._lines = tuple(line for line in lines if len(line) >= _CODE_LINE and line not in shown)
        names = sorted({path.rpartition("/")[2] for path in files}, key=len, reverse=True)
        self._names = re.compile("|".join(rf"\b{re.escape(name)}(?::\d+)*" for name in names) or r"(?!)")
        self._own = {*problem.context, *problem.targets}
        self._bits = widest(shown)

    def message(self, said: str | None) -> str:
        """The words of a failure: what its author wrote for people, in one line."""
        line = next((line.strip() for line in (said or "").splitlines() if line.strip()), "")
        if line.startswith("AssertionError: "):
            line = line.removeprefix("AssertionError: ")
        if not line or _QUOTED.match(line) or any(code in line for code in self._lines):
            return _UNSAID
        return self.text(line)

    def text(self, line: str) -> str:
        """Without paths but those of the model's own files, and without the names of the harness's."""
        if line.startswith(_BUILD) and not all(map(self.is_own, icarus_diagnostics(line.removeprefix(_BUILD)))):
            return _BUILD_OF_TESTS
        line = _PATH.sub("(path)", _OWN.sub("", line))
        line = self._names.sub("(test file)", line)
        line = _VALUE.sub(lambda found: cut_value(found[0], self._bits), line)
        line = _MANY.sub(r"\1...", line)  # an array instead of a wide output carries as much
        return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]} ..."

    def is_own(self, found: Diagnostic) -> bool:
        return found.file in self._own


def widest(specification: str) -> int:
    """The bits of the widest value that a specification speaks of; 64 where it names no width."""
    found = [
        int(high) + 1 if high else int(bits or parameter) for high, bits, parameter in _WIDTH.findall(specification)
    ]
    return max(found, default=0) or 64


def cut_value(value: str, bits: int) -> str:
    """A value as long as `bits` can be: a design may put whatever it found on an output wider than was asked for."""
    prefix = value[:2] if value[:2].lower() in ("0x", "0b") else ""
    digits = value[len(prefix) :]
    if prefix.lower() == "0b":
        most = bits
    elif not prefix and set(digits.lower()) <= set("01xz_"):
        most = max(bits, _SHORT)
    elif prefix or not digits.isdecimal():
        most = -(-bits // 4)
    else:
        most = max(len(str(2**bits)), _SHORT)
    return value if len(digits) <= most else f"{prefix}{digits[:most]}..."


def failures(problem: Problem, grade: Grade) -> str:
    """Why a design did not pass, for who wrote it."""
    sanitiser = Sanitiser(problem)
    return "\n".join(_lines(sanitiser, grade))


def _lines(sanitiser: Sanitiser, grade: Grade) -> Iterator[str]:
    if grade.outcome is Outcome.PASSED:
        yield "Every test passed."
        return
    if grade.outcome is Outcome.INVALID:
        yield "Nothing could be judged:"
        yield from (f"- {sanitiser.text(reason)}" for reason in grade.reasons)
        return
    own = [found for found in grade.diagnostics if sanitiser.is_own(found)]
    interface, syntax = grade.stage(StageName.INTERFACE), grade.stage(StageName.SYNTAX)
    if syntax.passed is False:
        yield "It does not compile."
        own = [found for found in own if found.severity == "error"] or own
        if not own:
            yield from (f"- {sanitiser.text(note)}" for note in syntax.notes)
    else:
        if interface.passed is False and interface.notes:
            yield "The interface differs from what the tests need:"
            yield from _limited((f"- {sanitiser.text(note)}" for note in interface.notes), MOST_TESTS)
        yield from _tests(sanitiser, grade.tests)
        own = [found for found in own if found.tool != "slang"]
    if own:
        yield "The tools say:"
        places = {(found.file, found.line, found.tool): found for found in reversed(own)}  # the first of each place
        lines = (f"- {at.file}:{at.line}: {at.severity}: {sanitiser.text(at.text)}" for at in places.values())
        yield from _limited(reversed(list(lines)), MOST_DIAGNOSTICS)


def _tests(sanitiser: Sanitiser, tests: Iterable[TestResult]) -> Iterator[str]:
    """Single tests; the pytest item around cocotb tests only where none of these failed."""
    every = list(tests)
    around = {(test.service, test.item) for test in every if test.item and test.passed is False}
    counted = [test for test in every if test.item or (test.service, test.name) not in around]
    failed = [test for test in counted if test.passed is False]
    if not failed:
        yield "The tests did not come to their end."
        return
    names = names_of(every)
    told: dict[str, int] = {}
    for test in failed:
        line = f"- {names[test.name]}: {sanitiser.message(test.message)}"
        told[line] = told.get(line, 0) + 1
    yield f"{len(failed)} of {len(counted)} tests failed:"
    lines = (line if times == 1 else f"{line} ({times} times)" for line, times in told.items())
    yield from _limited(lines, MOST_TESTS)


def names_of(tests: Iterable[TestResult]) -> dict[str, str]:
    """Tests' names as a model may see them: `test_uart.idle_is_high` is `idle_is_high`, without file and module.

    Of parameters only which set it is, from 0: `test_sum[2]`. Their text may hold the value that is expected.
    """
    sets: dict[str, int] = {}
    shown: dict[str, str] = {}
    for name in dict.fromkeys(test.name for test in tests):
        parameters = _PARAMETERS.search(name)
        function = name[: parameters.start()] if parameters else name
        shown[name] = function.rpartition("::")[2].rpartition(".")[2][:MOST_CHARACTERS]
        if parameters:
            number = sets.setdefault(function, 0)
            sets[function] += 1
            shown[name] += f"[{number}]"
    return shown


def _limited(lines: Iterable[str], most: int) -> Iterator[str]:
    every = list(lines)
    yield from every[:most]
    if len(every) > most:
        yield f"- ... and {len(every) - most} more"
