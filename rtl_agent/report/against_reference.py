"""The chosen answers, each with what its interface has other than the reference's."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rtl_agent.report.before_after import Compared
from rtl_agent.report.episode import Shown
from rtl_agent.report.interface import Design, Interface, ReadInterfaces, interface_differences, is_known
from rtl_agent.report.reset import reset_difference

_NAME = "answer.sv"  # of an answer that is one block of code


def against_references(cases: Sequence[Compared], read: ReadInterfaces) -> list[Compared]:
    """Two readings: the references tell which modules to read of the answers."""
    asked = read([Design(case.reference_files) for case in cases])
    answers = [
        (at, role, design)
        for at, (case, wanted) in enumerate(zip(cases, asked, strict=True))
        for role, episode in _answers(case).items()
        if wanted is not None and (design := _design(episode, case, wanted.module))
    ]
    written = read([design for _, _, design in answers])
    found = list(cases)
    for (at, role, design), interface in zip(answers, written, strict=True):
        wanted, case = asked[at], found[at]
        if wanted is not None and interface is not None:
            differences = _differences(case.reference_files, wanted, design.files, interface)
            episode = replace(_answers(case)[role], differences=differences)
            found[at] = replace(case, **{role: episode})  # type: ignore[arg-type] # a role is the name of a `Shown`
    return found


def _answers(case: Compared) -> dict[str, Shown]:
    named = {"before": case.before, "after": case.after, "teacher": case.teacher}
    return {role: episode for role, episode in named.items() if episode is not None}


def _design(episode: Shown, case: Compared, top: str) -> Design | None:
    """The files that were written; else the code in the answer, where one file was asked for."""
    if episode.files:
        return Design(episode.files, top)
    return Design({_NAME: episode.code}, top) if episode.code and len(case.reference_files) == 1 else None


def _differences(
    reference: Mapping[str, str], asked: Interface, answer: Mapping[str, str], written: Interface
) -> tuple[str, ...] | None:
    """None where nothing was found, and something could not be read."""
    reset = reset_difference("\n".join(reference.values()), "\n".join(answer.values()))
    found = (*interface_differences(asked, written), *([reset] if reset else []))
    return found if found or (is_known(asked) and is_known(written)) else None
