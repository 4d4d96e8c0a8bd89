"""Which held-out problems tell most of what a run learned, with everybody's answer to each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rtl_agent.grading import DEFAULT_EXTRACTION, Extraction, StageName, extract
from rtl_agent.problems import CocotbVersion, Harness, Kind, Needs, Problem
from rtl_agent.report.reference import differences_to_references
from rtl_agent.runs import RolloutRecord, RunRecord

COUNT = 6
NEW = "new"  # the set of families that are never trained on


@dataclass(frozen=True)
class ShownAnswer:
    """One answer to a held-out problem. `differences` are those to the reference; None where nothing was compared."""

    rollout: RolloutRecord
    files: Mapping[str, str]  # as the grader read them off it
    differences: tuple[str, ...] | None = None

    @property
    def passed(self) -> bool:
        return self.rollout.passed

    @property
    def step(self) -> int:
        return self.rollout.step

    @property
    def interface_notes(self) -> tuple[str, ...]:
        """How it differs from what the tests need, in the grader's words."""
        stage = self.rollout.grade.stage(StageName.INTERFACE) if self.rollout.grade else None
        return stage.notes if stage and stage.passed is False else ()


@dataclass(frozen=True)
class ComparedProblem:
    """One problem: the student at its first and last evaluation; teacher and reference where they are known."""

    problem_id: str
    family: str
    is_new: bool  # of a family that is never trained on
    specification: str
    before: ShownAnswer
    after: ShownAnswer
    teacher: ShownAnswer | None
    reference_files: Mapping[str, str]

    @property
    def reference(self) -> str | None:
        """One file as it is; several one after the other, each under its name."""
        if len(self.reference_files) <= 1:
            return next(iter(self.reference_files.values()), None)
        return "\n".join(f"// {path}\n{text}" for path, text in self.reference_files.items())

    @property
    def learned(self) -> bool:
        return self.after.passed and not self.before.passed

    @property
    def unlearned(self) -> bool:
        return self.before.passed and not self.after.passed

    @property
    def still_failing(self) -> bool:
        return not self.before.passed and not self.after.passed


def compared(run: RunRecord, count: int = COUNT) -> list[ComparedProblem]:
    """At most `count`, the same ones for the same run; none of a run that did not keep what it was tested on."""
    asked = {str(line.get("problem_id")): line for line in run.held_out()}
    if not asked:
        return []
    first, last = _first_and_last(run.rollouts("eval"))
    taught, _ = _first_and_last(run.rollouts("teacher"))
    cases = [
        _case(asked[name], before, last[name], taught.get(name))
        for name, before in first.items()
        if name in asked and name in last
    ]
    return choose(cases, count)


def against_references(cases: Sequence[ComparedProblem]) -> list[ComparedProblem]:
    """The same, each answer with what it has other than the reference."""
    places = [
        (at, role, answer)
        for at, case in enumerate(cases)
        for role, answer in _answers(case)
        if case.reference_files and answer.files
    ]
    found = list(cases)
    read = differences_to_references([(cases[at].reference_files, answer.files) for at, _, answer in places])
    for (at, role, answer), differences in zip(places, read, strict=True):
        compared = replace(answer, differences=differences)
        found[at] = replace(found[at], **{role: compared})  # type: ignore[arg-type]  # a role is the name of an answer
    return found


def choose(cases: Iterable[ComparedProblem], count: int = COUNT) -> list[ComparedProblem]:
    """Half of them learned, a third still failing, then whatever was lost; one at least of a new family."""
    left = _spread(cases)
    chosen: list[ComparedProblem] = []
    quotas = (("learned", count // 2), ("still_failing", count // 3), ("unlearned", 1))
    for kind, most in quotas:
        chosen += [case for case in left if getattr(case, kind)][:most]
    chosen += [case for case in left if case not in chosen][: count - len(chosen)]
    fresh = next((case for case in left if case.is_new), None)
    if fresh and not any(case.is_new for case in chosen):
        chosen[-1] = fresh
    return sorted(chosen, key=lambda case: (_kind(case), left.index(case)))


def _spread(cases: Iterable[ComparedProblem]) -> list[ComparedProblem]:
    """By kind, and in a kind one of each family before a second; a wrong interface at first tells most."""
    ordered = sorted(cases, key=lambda case: (_kind(case), not case.before.interface_notes, case.problem_id))
    seen: dict[tuple[int, str], int] = {}
    ranked = []
    for case in ordered:
        key = (_kind(case), case.family)
        ranked.append((_kind(case), seen.get(key, 0), case))
        seen[key] = seen.get(key, 0) + 1
    return [case for _, _, case in sorted(ranked, key=lambda entry: entry[:2])]


def _kind(case: ComparedProblem) -> int:
    return 0 if case.learned else 1 if case.still_failing else 2 if case.unlearned else 3


def _first_and_last(
    rollouts: Iterable[RolloutRecord],
) -> tuple[dict[str, RolloutRecord], dict[str, RolloutRecord]]:
    """The first answer to each problem in the first and in the last evaluation; none of a run with only one."""
    first: dict[str, RolloutRecord] = {}
    last: dict[str, RolloutRecord] = {}
    for rollout in rollouts:
        if not rollout.counts:
            continue
        name = rollout.episode.problem_id
        first.setdefault(name, rollout)
        if last.get(name, first[name]).step < rollout.step:
            last[name] = rollout
    return first, last


def _case(
    asked: Mapping[str, Any], before: RolloutRecord, after: RolloutRecord, teacher: RolloutRecord | None
) -> ComparedProblem:
    reference = asked.get("reference")
    files = {str(path): str(text) for path, text in reference.items()} if isinstance(reference, Mapping) else {}
    return ComparedProblem(
        problem_id=before.episode.problem_id,
        family=str(asked.get("family") or before.episode.family),
        is_new=asked.get("set") == NEW,
        specification=str(asked.get("specification") or ""),
        before=_shown(before, files),
        after=_shown(after, files),
        teacher=_shown(teacher, files) if teacher else None,
        reference_files=files,
    )


def _answers(case: ComparedProblem) -> Iterator[tuple[str, ShownAnswer]]:
    named = {"before": case.before, "after": case.after, "teacher": case.teacher}
    return ((role, answer) for role, answer in named.items() if answer is not None)


def _shown(rollout: RolloutRecord, reference: Mapping[str, str]) -> ShownAnswer:
    """The files that an agent left; else those that the grader's extraction finds in the answer."""
    if rollout.episode.files or not reference:
        return ShownAnswer(rollout, rollout.episode.files)
    ways = {way.value: way for way in Extraction}
    extraction = ways.get(rollout.grade.extraction if rollout.grade else "", DEFAULT_EXTRACTION)
    return ShownAnswer(rollout, extract(_asked_for(tuple(reference)), rollout.episode.text, extraction).files)


def _asked_for(targets: tuple[str, ...]) -> Problem:
    """As much of a problem as reading an answer to it takes: the files that it asks for."""
    harness = Harness({}, (), CocotbVersion.V2)
    return Problem("", "", "", "", Kind.SINGLE_SHOT, Needs.OPEN_TOOLS, "", {}, targets, harness)
