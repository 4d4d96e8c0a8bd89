"""Grades for people: stages, tests, the first failing assertion, diagnostics with file and line."""

from collections.abc import Sequence

from rich.markup import escape as without_markup
from rich.panel import Panel
from rich.table import Table

from rtl_agent.cli.console import harmless, out
from rtl_agent.grading import Grade, Outcome, StageName, TestResult

COLOURS = {Outcome.PASSED: "green", Outcome.FAILED: "red", Outcome.INVALID: "yellow", Outcome.ERROR: "magenta"}
_MOST_TESTS, _MOST_DIAGNOSTICS = 60, 20


def escape(text: str) -> str:
    """Compilers quote the design, and a design can hold escape sequences and markup."""
    return without_markup(harmless(text))


def coloured(outcome: Outcome) -> str:
    return f"[{COLOURS[outcome]}]{outcome.value}[/]"


def _mark(passed: bool | None) -> str:
    return {True: "[green]pass[/]", False: "[red]FAIL[/]", None: "[dim]-[/]"}[passed]


def print_grade(grade: Grade) -> None:
    """One grade in full."""
    stages = Table("stage", "", "reward", "notes", show_edge=False)
    for stage in grade.stages:
        earned = grade.reward.parts.get(stage.name.value)
        notes = "\n".join(stage.notes[:6])
        if stage.name is StageName.TESTS and grade.tests:
            notes = _tests_in_short(grade.tests)
        stages.add_row(stage.name, _mark(stage.passed), "" if earned is None else f"{earned:.2f}", escape(notes))
    earned_of = f"reward {grade.reward.total:g} of {grade.reward.maximum:g}"
    title = f"{escape(grade.problem_id)}: {coloured(grade.outcome)}, {earned_of}"
    out.print(Panel(stages, title=title))
    if grade.tests:
        out.print(_tests_table(grade.tests))
    if grade.diagnostics:
        out.print(_diagnostics_table(grade))
    if grade.outcome in (Outcome.INVALID, Outcome.ERROR):
        out.print(*(escape(reason) for reason in grade.reasons), sep="\n")
    if grade.tools:
        tools = ", ".join(f"{name} {version}" for name, version in grade.tools.items() if name != "fallback")
        spent = f"{grade.timings.get('total', 0):.2f} s, {grade.timings.get('cpu', 0):.2f} s CPU"
        why = f" ({grade.path_reason})" if grade.path_reason else ""
        why += f", {grade.extraction} extraction" if grade.extraction else ""
        why += ", from the cache" if grade.cached else ""
        out.print(f"[dim]seed {grade.seed}, {grade.path} path{why}, {spent}; {tools}[/]")


def judged(tests: Sequence[TestResult]) -> list[TestResult]:
    """What counts as a test: cocotb tests, and pytest items that ran none."""
    holders = {test.item for test in tests}
    return [test for test in tests if test.item or test.name not in holders]


def _tests_in_short(tests: Sequence[TestResult]) -> str:
    counted = judged(tests)
    failed = sum(1 for test in counted if test.passed is False)
    return f"{failed} of {len(counted)} failed" if failed else f"all {len(counted)} passed"


def _tests_table(tests: Sequence[TestResult]) -> Table:
    table = Table("test", "", "time", "message", show_edge=False)
    shown = (
        sorted(tests, key=lambda test: test.passed is not False)[:_MOST_TESTS] if len(tests) > _MOST_TESTS else tests
    )
    for test in shown:
        when = "" if test.time_ns is None else f"{test.time_ns:g} ns"
        name = f"  {test.name.rpartition('.')[2]}" if test.item else test.name
        words = (
            ""
            if test.passed
            else " ".join(part for part in (test.message, f"({test.where})" if test.where else None) if part)
        )
        table.add_row(escape(name), _mark(test.passed), when, escape(words))
    if len(tests) > len(shown):
        table.add_row(f"... {len(tests) - len(shown)} more", "", "", "")
    return table


def _diagnostics_table(grade: Grade) -> Table:
    table = Table("where", "tool", "", "diagnostic", show_edge=False)
    for found in grade.diagnostics[:_MOST_DIAGNOSTICS]:
        colour = "red" if found.severity == "error" else "yellow"
        place = f"{found.file}:{found.line}" if found.line else found.file
        table.add_row(escape(place), found.tool, f"[{colour}]{found.severity}[/]", escape(found.text))
    if len(grade.diagnostics) > _MOST_DIAGNOSTICS:
        table.add_row(f"... {len(grade.diagnostics) - _MOST_DIAGNOSTICS} more", "", "", "")
    return table


def print_summary(graded: Sequence[tuple[str, Grade]]) -> None:
    """Many grades, a line each."""
    table = Table("submission", "outcome", "reward", "tests", "first reason")
    for label, grade in graded:
        counted = judged(grade.tests)
        passed = sum(1 for test in counted if test.passed)
        reason = grade.reasons[0] if grade.reasons else ""
        table.add_row(
            escape(label),
            coloured(grade.outcome),
            f"{grade.reward.total:g}",
            f"{passed}/{len(counted)}" if counted else "",
            escape(reason if len(reason) <= 160 else reason[:157] + "..."),
        )
    out.print(table)
    counts = ", ".join(
        f"{count} {outcome.value}" for outcome in Outcome if (count := sum(g.outcome is outcome for _, g in graded))
    )
    mean = sum(grade.reward.total for _, grade in graded) / len(graded)
    out.print(f"{len(graded)} graded: {counts}; mean reward {mean:.3f}")
