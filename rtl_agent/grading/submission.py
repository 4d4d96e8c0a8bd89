"""What is judged: the text of the problem's own target files, and nothing else."""

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from rtl_agent.problems import Problem, why_unsafe

MAX_FILE_BYTES = 1024 * 1024  # the largest author-written RTL file in CVDP has 90 kB


class Extraction(StrEnum):
    """How files are read from a model's reply: `forgiving` finds the target's module wherever it is written, `cvdp`
    reads as CVDP's runner does. The choice is recorded in every result."""

    FORGIVING = "forgiving"
    CVDP = "cvdp"


DEFAULT_EXTRACTION = Extraction.FORGIVING


@dataclass(frozen=True)
class Submission:
    """What is graded: target path -> text, including given targets that were left alone. `submit` makes one.

    `refused` names what else was offered, each with the reason why it was not taken.
    """

    files: Mapping[str, str]
    refused: tuple[str, ...] = ()
    unusable: str | None = None  # why nothing here can be judged
    extraction: Extraction | None = None  # how it was read off a reply; None: it came as files

    def changes(self, problem: Problem) -> bool:
        """Whether anything differs from the targets as they were given."""
        if any(path not in self.files for path in problem.given):
            return True
        return any(problem.context.get(path) != text for path, text in self.files.items())

    def workspace(self, problem: Problem) -> dict[str, str]:
        """Every file that is not the harness's, as a tool finds it: a given target that was deleted is gone."""
        context = {path: text for path, text in problem.context.items() if path not in problem.targets}
        return {**context, **self.files}


def submit(problem: Problem, files: Mapping[str, str], *, whole: bool = False) -> Submission:
    """Files as a submission: the problem's targets are taken, every other path is refused by name.

    Args:
        problem: what was asked.
        files: path -> text. A given target that is left out stays as it was given, as in CVDP's flow, where answers
            are written over the context.
        whole: the files are everything in a workspace: what is left out was deleted.

    Example:
        >>> import rtl_agent as ra
        >>> problem = next(one for one in ra.load_problems("bundled") if one.id == "rtl_alu_0001")
        >>> submission = ra.submit(problem, {"rtl/alu.sv": "module alu; endmodule", "Makefile": "all:"})
        >>> sorted(submission.files), submission.refused
        (['rtl/alu.sv'], ("'Makefile' is not a file that this problem asks for (rtl/alu.sv)",))
    """
    taken: dict[str, str] = {}
    refused: list[str] = []
    for path, text in files.items():
        if path in problem.targets and len(text) <= MAX_FILE_BYTES:
            taken[path] = text.removeprefix("\ufeff")  # a byte order mark, which Icarus does not take
        else:
            refused.append(f"{path[:200]!r} {_why_refused(path, text, problem)}")
    reason = None
    if not taken:
        reason = "; ".join(refused) if refused else "there is no file"
    elif not any(text.strip() for text in taken.values()):
        reason = "every file is empty"
    if taken and not whole:
        taken |= _untouched(problem, files)
    return Submission(taken, tuple(refused), reason)


def _untouched(problem: Problem, offered: Collection[str]) -> dict[str, str]:
    """The given targets that nothing was offered for, not even something that was refused."""
    return {path: text for path, text in problem.given.items() if path not in offered}


def _why_refused(path: str, text: str, problem: Problem) -> str:
    if path in problem.targets:
        return f"is larger than {MAX_FILE_BYTES} bytes"
    return why_unsafe(path) or f"is not a file that this problem asks for ({', '.join(problem.targets)})"


def submit_directory(problem: Problem, directory: Path) -> Submission:
    """The targets that stand in a folder: regular files only, no link is followed. Given ones need not be there."""
    files: dict[str, str] = {}
    refused: list[str] = []
    there: set[str] = set()
    for target in problem.targets:
        try:
            text = _read_regular(directory, target)
        except FileNotFoundError:
            continue
        except OSError as error:
            refused.append(f"{target!r} {error.strerror or error}")
            there.add(target)
            continue
        files[target] = text
        there.add(target)
    found = submit(problem, files, whole=True)
    if not files and not refused:
        return Submission({}, (), f"none of {', '.join(problem.targets)} is in {directory}")
    given = _untouched(problem, there) if found.files else {}
    return Submission({**found.files, **given}, (*refused, *found.refused), found.unusable)


def _read_regular(directory: Path, target: str) -> str:
    """Open every part of the path without following links, as a hostile workspace may hold them anywhere."""
    opened = [os.open(directory, os.O_RDONLY | os.O_DIRECTORY)]
    try:
        *parents, name = target.split("/")
        for parent in parents:
            opened.append(os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[-1]))
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=opened[-1])
        opened.append(descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "is not a regular file")
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            return stream.read(MAX_FILE_BYTES + 1).decode(errors="replace")
    finally:
        for descriptor in opened:
            os.close(descriptor)
