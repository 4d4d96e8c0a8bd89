"""Which held-out problems tell most of what a run learned, with everybody's answer to each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rtl_agent.report.episode import Shown, shown
from rtl_agent.runs import RunRecord

COUNT = 6
NEW = "new"  # the set of families that are never trained on


@dataclass(frozen=True)
class Compared:
    """One problem: the student at its first and last evaluation; teacher and reference where they are known."""

    problem_id: str
    family: str
    is_new: bool  # of a family that is never trained on
    specification: str
    before: Shown
    after: Shown
    teacher: Shown | None
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


def compared(run: RunRecord, count: int = COUNT) -> list[Compared]:
    """At most `count`, the same ones for the same run; none of a run that did not keep what it was tested on."""
    asked = {str(line.get("problem_id")): line for line in run.held_out()}
    if not asked:
        return []
    first, last = _first_and_last(run.episodes("eval"))
    taught, _ = _first_and_last(run.episodes("teacher"))
    cases = [
        _case(asked[name], before, last[name], taught.get(name))
        for name, before in first.items()
        if name in asked and name in last
    ]
    return choose(cases, count)


def choose(cases: Iterable[Compared], count: int = COUNT) -> list[Compared]:
    """Half of them learned, a third still failing, then whatever was lost; one at least of a new family."""
    left = _spread(cases)
    chosen: list[Compared] = []
    quotas = (("learned", count // 2), ("still_failing", count // 3), ("unlearned", 1))
    for kind, most in quotas:
        chosen += [case for case in left if getattr(case, kind)][:most]
    chosen += [case for case in left if case not in chosen][: count - len(chosen)]
    fresh = next((case for case in left if case.is_new), None)
    if fresh and not any(case.is_new for case in chosen):
        chosen[-1] = fresh
    return sorted(chosen, key=lambda case: (_kind(case), left.index(case)))


def _spread(cases: Iterable[Compared]) -> list[Compared]:
    """By kind, and in a kind one of each family before a second; a wrong interface at first tells most."""
    ordered = sorted(cases, key=lambda case: (_kind(case), not case.before.interface, case.problem_id))
    seen: dict[tuple[int, str], int] = {}
    ranked = []
    for case in ordered:
        key = (_kind(case), case.family)
        ranked.append((_kind(case), seen.get(key, 0), case))
        seen[key] = seen.get(key, 0) + 1
    return [case for _, _, case in sorted(ranked, key=lambda entry: entry[:2])]


def _kind(case: Compared) -> int:
    return 0 if case.learned else 1 if case.still_failing else 2 if case.unlearned else 3


def _first_and_last(episodes: Iterable[dict[str, Any]]) -> tuple[dict[str, Shown], dict[str, Shown]]:
    """The first answer to each problem in the first and in the last evaluation; none of a run with only one."""
    first: dict[str, Shown] = {}
    last: dict[str, Shown] = {}
    for record in episodes:
        episode = shown(record)
        if not episode.counts:
            continue
        first.setdefault(episode.problem_id, episode)
        if last.get(episode.problem_id, first[episode.problem_id]).step < episode.step:
            last[episode.problem_id] = episode
    return first, last


def _case(asked: Mapping[str, Any], before: Shown, after: Shown, teacher: Shown | None) -> Compared:
    return Compared(
        problem_id=before.problem_id,
        family=str(asked.get("family") or before.family),
        is_new=asked.get("set") == NEW,
        specification=str(asked.get("specification") or ""),
        before=before,
        after=after,
        teacher=teacher,
        reference_files=_files(asked.get("reference")),
    )


def _files(reference: Any) -> Mapping[str, str]:
    return {str(path): str(text) for path, text in reference.items()} if isinstance(reference, Mapping) else {}
