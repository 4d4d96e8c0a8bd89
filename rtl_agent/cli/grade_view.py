"""Grades for people: stages, tests, what failed and where, diagnostics with file and line. No line is ever cut."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from rich.markup import escape as without_markup

from rtl_agent.cli.console import harmless, out
from rtl_agent.cli.source_lines import excerpt
from rtl_agent.cli.tables import Column, Table
from rtl_agent.grading import Grade, Outcome, Stage, StageName, TestResult

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
COLOURS = {Outcome.PASSED: "green", Outcome.FAILED: "red", Outcome.INVALID: "yellow", Outcome.ERROR: "magenta"}
_MOST_TESTS, _MOST_DIAGNOSTICS, _MOST_NOTES, _MOST_LETTERS = 60, 20, 6, 400


def escape(text: str) -> str:
    """Compilers quote the design, and a design can hold escape sequences and markup."""
    return without_markup(harmless(text))


def coloured(outcome: Outcome) -> str:
    return f"[{COLOURS[outcome]}]{outcome.value}[/]"


def _mark(passed: bool | None) -> str:
    return {True: "[green]pass[/]", False: "[red]FAIL[/]", None: "[dim]-[/]"}[passed]


def print_grade(grade: Grade, files: Mapping[str, str] | None = None) -> None:
    """One grade in full, with the lines of these files that diagnostics are about."""
    earned_of = f"reward {grade.reward.total:g} of {grade.reward.maximum:g}"
    if grade.only:
        earned_of = f"judged by some of its tests alone ({named_by(grade.only)}), so without a reward"
    _print_line(f"[bold]{escape(grade.problem_id)}[/]: {coloured(grade.outcome)}, {escape(earned_of)}")
    stages = Table(Column("stage", whole=True), "result", Column("reward", right=True), "notes")
    for stage in grade.stages:
        earned = grade.reward.parts.get(stage.name.value)
        notes = "\n".join(_notes(grade, stage))
        stages.add(stage.name, _mark(stage.passed), "" if earned is None else f"{earned:.2f}", escape(notes))
    if grade.stages:
        stages.print()
    _print_tests(grade.tests)
    _print_diagnostics(grade, files or {})
    if grade.outcome in (Outcome.INVALID, Outcome.ERROR):
        told = {note for stage in grade.stages for note in _notes(grade, stage)}
        for reason in grade.reasons:
            if reason not in told:
                _print_line(escape(reason))
    if grade.tools:
        tools = ", ".join(
            f"{name} {version}" for name, version in grade.tools.items() if name not in ("fallback", "sandbox")
        )
        spent = f"{grade.timings.get('total', 0):.2f} s, {grade.timings.get('cpu', 0):.2f} s CPU"
        why = f" ({grade.path_reason})" if grade.path_reason else ""
        why += f", {grade.extraction} extraction" if grade.extraction else ""
        why += ", from the cache" if grade.cached else ""
        out.print(
            f"[dim]seed {grade.seed}, {grade.path} path{why}, {spent}; {tools}[/]",
            highlight=False,
            soft_wrap=not out.is_terminal,
        )


def _notes(grade: Grade, stage: Stage) -> list[str]:
    """Of the tests their number, and what is said of no single one: a simulation that does not end, say."""
    if stage.name is not StageName.TESTS or not grade.tests:
        return list(stage.notes[:_MOST_NOTES])
    names = tuple(name for test in grade.tests for name in (test.name, test.item) if name)
    general = [note for note in stage.notes if not note.startswith(names)]
    return [_tests_in_short(grade.tests), *general[:_MOST_NOTES], *_progress(grade)]


def _progress(grade: Grade) -> list[str]:
    """How far the failed tests came, where the reward counts it."""
    parts = grade.progress.parts if grade.progress else ()
    known = [part for part in parts if part.value is not None and part.name != "tests_passed"]
    return [f"{part.name.replace('_', ' ')} {part.value:.0%}: {part.reason}" for part in known]


def counted_tests(tests: Sequence[TestResult]) -> list[TestResult]:
    """What counts as a test: cocotb tests, and pytest items that ran none."""
    holders = {test.item for test in tests}
    return [test for test in tests if test.item or test.name not in holders]


def _tests_in_short(tests: Sequence[TestResult]) -> str:
    counted = counted_tests(tests)
    failed = sum(1 for test in counted if test.passed is False)
    return f"{failed} of {len(counted)} failed" if failed else f"all {len(counted)} passed"


def _print_tests(tests: Sequence[TestResult]) -> None:
    """A line for each, and below a failing one where and why; failing ones first where there are very many."""
    by_failure = sorted(tests, key=lambda test: test.passed is not False)
    shown = _items_first(by_failure[:_MOST_TESTS] if len(tests) > _MOST_TESTS else tests)
    names = [f"  {test.name.rpartition('.')[2]}" if test.item else test.name for test in shown]
    width = max((len(name) for name, test in zip(names, shown, strict=True) if test.time_ns is not None), default=0)
    for name, test in zip(names, shown, strict=True):
        when = "" if test.time_ns is None else f"{test.time_ns:g} ns"
        _print_line(f"{_mark(test.passed)}  {escape(f'{name:{width}}  {when}'.rstrip())}")
        why = ": ".join(part for part in (test.where, test.message) if part) if test.passed is not True else ""
        for line in why.splitlines():
            _print_line(f"          {escape(line)}")
    if left := len(tests) - len(shown):
        _print_line(f"... and {left} more tests; --json has all")


def _items_first(tests: Sequence[TestResult]) -> list[TestResult]:
    """Each pytest item above the cocotb tests that it ran: it ends, and is reported, after them."""
    items = {(test.service, test.name): test for test in tests if not test.item}
    ordered: dict[int, TestResult] = {}
    for test in tests:
        if (item := items.get((test.service, test.item))) is not None:
            ordered.setdefault(id(item), item)
        ordered.setdefault(id(test), test)
    return list(ordered.values())


def named_by(patterns: Sequence[str]) -> str:
    """What was asked for; whole names are those that a grade gave."""
    if all(pattern.startswith("=") for pattern in patterns):
        return "those that failed before"
    return " ".join(f"-k {shlex.quote(pattern)}" for pattern in patterns)


def _print_diagnostics(grade: Grade, files: Mapping[str, str]) -> None:
    """As compilers print them."""
    for found in grade.diagnostics[:_MOST_DIAGNOSTICS]:
        colour = "red" if found.severity == "error" else "yellow"
        place = f"{found.file}:{found.line}" if found.line else found.file
        _print_line(
            f"{escape(place)}: [{colour}]{escape(found.severity)}[/]: {escape(found.text)} ({escape(found.tool)})"
        )
        for line in excerpt(found, files, out.width):
            _print_line(f"[dim]{escape(line)}[/]")
    if (left := len(grade.diagnostics) - _MOST_DIAGNOSTICS) > 0:
        _print_line(f"... and {left} more diagnostics; --json has all")


def _print_line(markup: str) -> None:
    """Whole: a terminal may wrap it, a pipe gets it as it is."""
    out.print(markup, highlight=False, soft_wrap=True)


def first_reason(grade: Grade) -> str:
    reason = " ".join(grade.reasons[0].split()) if grade.reasons else ""
    return reason if len(reason) <= _MOST_LETTERS else f"{reason[:_MOST_LETTERS]} ... (--json has all)"


def print_output(grade: Grade, label: str = "") -> None:
    """What the tools printed. Colours are dropped; whatever else a terminal would obey is written out."""
    _print_line(f"\n[bold]What the tools printed{escape(f' for {label}' if label else '')}[/]")
    for line in _COLOUR.sub("", grade.log or "nothing").splitlines():
        _print_line(escape(line))


def print_summary(graded: Sequence[tuple[str, Grade]]) -> None:
    """Many grades, a line each."""
    table = Table(
        Column("submission", whole=True),
        "outcome",
        Column("reward", right=True, drop=2),
        Column("tests", right=True, drop=1),
        "first reason",
    )
    for label, grade in graded:
        counted = counted_tests(grade.tests)
        passed = sum(1 for test in counted if test.passed)
        table.add(
            escape(label),
            coloured(grade.outcome),
            f"{grade.reward.total:g}",
            f"{passed}/{len(counted)}" if counted else "",
            escape(first_reason(grade)),
        )
    table.print()
    counts = ", ".join(f"{count} {outcome.value}" for outcome, count in _outcomes(graded))
    mean = sum(grade.reward.total for _, grade in graded) / len(graded)
    out.print(f"{len(graded)} graded: {counts}; mean reward {mean:.3f}", highlight=False)


def _outcomes(graded: Sequence[tuple[str, Grade]]) -> Iterator[tuple[Outcome, int]]:
    for outcome in Outcome:
        if count := sum(grade.outcome is outcome for _, grade in graded):
            yield outcome, count
