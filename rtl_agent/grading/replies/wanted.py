"""Which design units a problem's targets are expected to hold, as far as a model can know: names, by target."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from rtl_agent.grading.replies.rtl_text import RtlText
from rtl_agent.problems import Problem


@dataclass(frozen=True)
class Wanted:
    """A target, the names that tell its text from others, and the harness's top module if it has to be in it."""

    path: str
    names: frozenset[str]
    top: str | None = None

    @property
    def is_rtl(self) -> bool:
        return self.path.endswith((".sv", ".v", ".svh", ".vh"))


def wanted(problem: Problem) -> tuple[Wanted, ...]:
    """The file's stem, what a given target declares, the harness's top, and what other given files use but none has."""
    own = {path: _given_names(problem, path) | {PurePosixPath(path).stem} for path in problem.targets}
    others = [RtlText(text) for path, text in problem.context.items() if path not in own and _is_rtl(path)]
    elsewhere = frozenset(name for text in others for name in text.names)
    tops = {service.env.get("TOPLEVEL", "") for service in problem.harness.services} - {""} - elsewhere
    if len(problem.targets) == 1:
        # Where there is one target, whatever is missing has to be in it.
        missing = frozenset(name for text in others for name in text.used) - elsewhere
        (target,) = own
        return (Wanted(target, own[target] | tops | missing, min(tops, default=None)),)
    return tuple(
        Wanted(path, names - elsewhere or names, min(tops & names, default=None)) for path, names in own.items()
    )


def elsewhere_declared(problem: Problem) -> frozenset[str]:
    """What the workspace has besides the targets."""
    return frozenset(
        name
        for path, text in problem.context.items()
        if path not in problem.targets and _is_rtl(path)
        for name in RtlText(text).names
    )


def _given_names(problem: Problem, path: str) -> frozenset[str]:
    return RtlText(problem.context.get(path, "")).names if _is_rtl(path) else frozenset()


def _is_rtl(path: str) -> bool:
    return path.endswith((".sv", ".v", ".svh", ".vh"))
