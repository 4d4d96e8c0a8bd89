"""Choose problems: filters, and splits by family that never put siblings on both sides."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rtl_agent.problems.problem import NoSuchProblems, Problem
from rtl_agent.registry import did_you_mean


class Split(StrEnum):
    TRAIN = "train"
    HELD_OUT = "held-out"


def split_of(family: str, *, held_out: float = 0.2, seed: int = 0) -> Split:
    """Which side a family is on. It depends on the family's name alone, so no filter can move it across."""
    digest = hashlib.sha256(f"{seed}:{family}".encode()).digest()
    return Split.HELD_OUT if int.from_bytes(digest[:8]) < held_out * 2**64 else Split.TRAIN


@dataclass(frozen=True)
class Selection:
    """Empty fields select everything."""

    ids: Sequence[str] = ()
    families: Sequence[str] = ()
    categories: Sequence[str] = ()
    difficulties: Sequence[str] = ()
    kinds: Sequence[str] = ()
    needs: Sequence[str] = ()
    split: Split | None = None
    held_out: float = 0.2
    split_seed: int = 0

    def takes(self, problem: Problem) -> bool:
        wanted = (
            (self.ids, problem.id),
            (self.families, problem.family),
            (self.categories, problem.category),
            (self.difficulties, problem.difficulty),
            (self.kinds, problem.kind),
            (self.needs, problem.needs),
        )
        if not all(not values or value in values for values, value in wanted):
            return False
        side = split_of(problem.family, held_out=self.held_out, seed=self.split_seed)
        return self.split is None or side is self.split


def choose(problems: Sequence[Problem], selection: Selection, source: str) -> list[Problem]:
    """The selected problems; a value that no problem of the source has is an error, and so is an empty result."""
    named = (
        ("id", "problem", selection.ids, [problem.id for problem in problems]),
        ("family", "family", selection.families, [problem.family for problem in problems]),
        ("category", "category", selection.categories, [problem.category for problem in problems]),
        ("difficulty", "difficulty", selection.difficulties, [problem.difficulty for problem in problems]),
        ("kind", "kind", selection.kinds, [problem.kind.value for problem in problems]),
        ("needs", "needs", selection.needs, [problem.needs.value for problem in problems]),
    )
    for option, word, wanted, there in named:
        unknown = [value for value in wanted if value not in there]
        if unknown:
            known = sorted(set(there))
            command = "list" if option == "id" else "stats"
            has = (
                f"it has {', '.join(known)}"
                if len(known) <= 12
                else f"`rtl-agent problems {command} {source}` lists them"
            )
            near = did_you_mean(unknown[0], known)
            what = f"no {word} {', '.join(unknown)}" if option != "needs" else f"no problem that needs {unknown[0]}"
            raise NoSuchProblems(f"{source} has {what}{near}; {has}")
    found = select(problems, selection)
    if not found:
        raise NoSuchProblems(f"{source} has {len(problems)} problems, but none that matches all filters")
    return found


def select(problems: Iterable[Problem], selection: Selection) -> list[Problem]:
    """The selected problems, in their given order."""
    return [problem for problem in problems if selection.takes(problem)]
