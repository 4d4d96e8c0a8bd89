"""`grade --waves DIR`: the waves of every simulation of each graded answer, for Surfer or GTKWave.

Each answer is simulated once more after its grade, which stays as it is; files are new, and none is overwritten.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.answers import GradingJob
from rtl_agent.cli.grade_view import escape
from rtl_agent.grading import Grade, Outcome
from rtl_agent.grading.dump import DumpedSimulation
from rtl_agent.sandbox import SandboxError, make_sandbox
from rtl_agent.toolchain import ToolMissing, find_toolchain
from rtl_agent.waves.simulate import WaveSimulator, simulating_services, unlike_grade

_MOST_FILES, _MOST_FAILED = 40, 4  # that are named one by one
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")

Waves = Annotated[
    Path | None,
    typer.Option(
        "--waves",
        metavar="DIR",
        help="Simulate each answer once more, with the seeds of its grade, and write each simulation's waves into DIR "
        "(new or empty) as VCD. The grade stays as it is.",
    ),
]


def ensure_no_waves(directory: Path | None) -> None:
    """Before anything is graded: a folder with files in it is refused."""
    if directory is None:
        return
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise typer.BadParameter(f"{directory} is not a directory", param_hint="--waves")
    if directory.is_dir() and any(directory.iterdir()):
        raise typer.BadParameter(f"{directory} is not empty; name a new or an empty directory", param_hint="--waves")


@dataclass
class _Written:
    """Of one answer."""

    folder: Path
    files: list[str] = field(default_factory=list)  # each with what it shows
    said: list[str] = field(default_factory=list)


def write_waves(
    directory: Path | None, todo: Sequence[GradingJob], grades: Sequence[Grade], timeout: float, jobs: int | None = None
) -> None:
    """Say where the waves are, and of what there are none. What fails here is a warning: the grades stand."""
    if directory is None:
        return
    pairs = list(zip(todo, grades, strict=True))
    folders = list(_folders(directory, [job.label for job in todo]))
    try:
        written = asyncio.run(_write_all(pairs, folders, timeout, jobs or 1))
    except (ToolMissing, SandboxError, OSError) as error:
        console.say_warning(f"no waves: {error}")
        return
    for (job, _), found in zip(pairs, written, strict=True):
        for sentence in found.said:
            console.say_warning(f"{job.label}: {sentence}")
    count = sum(len(found.files) for found in written)
    noun = "simulation" if count == 1 else "simulations"
    console.err.print(f"waves of {count} {noun} below {escape(str(directory))}", soft_wrap=True)
    if count <= _MOST_FILES:
        for found in written:
            for line in found.files:
                inside = f"{found.folder.name}/" if found.folder != directory else ""
                console.err.print(f"  {escape(inside + line)}", highlight=False, soft_wrap=True)


async def _write_all(
    pairs: Sequence[tuple[GradingJob, Grade]], folders: Sequence[Path], timeout: float, jobs: int
) -> list[_Written]:
    simulator = WaveSimulator(make_sandbox(jobs), find_toolchain(), timeout_seconds=timeout)
    turns = asyncio.Semaphore(jobs)
    with console.progress_bar("waves", len(pairs)) as progress:

        async def one(job: GradingJob, grade: Grade, folder: Path) -> _Written:
            async with turns:
                found = await _write(simulator, job, grade, folder)
            progress.update(progress.task_ids[0], advance=1, note="")
            return found

        return list(await asyncio.gather(*(one(*pair, folder) for pair, folder in zip(pairs, folders, strict=True))))


async def _write(simulator: WaveSimulator, job: GradingJob, grade: Grade, folder: Path) -> _Written:
    written = _Written(folder)
    if grade.outcome in (Outcome.INVALID, Outcome.ERROR):
        written.said.append(f"nothing was simulated ({grade.outcome.value}), so there are no waves")
        return written
    services = simulating_services(job.problem)
    if not services:
        written.said.append("no service of its harness simulates with Icarus, so there are no waves")
    for service in services:

        def keep(simulation: DumpedSimulation, data: bytes, name: str = service.name) -> None:
            where = f"{_UNSAFE.sub('_', name)[:60]}-{simulation.number:03}-seed{simulation.seed}.vcd"
            if not data:
                written.said.append(f"no waves of simulation {simulation.number}: it did not begin, or is one too many")
                return
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / where).open("xb") as stream:
                stream.write(data)
            written.files.append(f"{where}: {_about(simulation)}")
            if b"$comment rtl-agent cut" in data[-200:]:
                written.said.append(f"{where} was cut at its largest size")

        before = len(written.files)
        tests = await simulator.simulate(job.problem, service, job.submission, grade.seed, keep)
        written.said += [f"not as in the grade: {sentence}" for sentence in unlike_grade(grade, service.name, tests)]
        if len(written.files) == before and not written.said:
            written.said.append(f"service {service.name} started no simulation, so it has no waves")
    return written


def _about(simulation: DumpedSimulation) -> str:
    """Which tests a file shows: the pytest item, and where to look for what failed."""
    failed = [
        f"{name.rpartition('.')[2]} fails" + (f" at {time:g} ns" if isinstance(time, int | float) else "")
        for name, message in simulation.tests.items()
        for time in [message.get("time_ns")]
        if message.get("passed") is False
    ]
    left = len(failed) - _MOST_FAILED
    named = ", ".join([*failed[:_MOST_FAILED], *([f"{left} more"] if left > 0 else [])])
    return "; ".join(part for part in (simulation.item, named or "no test failed in it") if part)


def _folders(directory: Path, labels: Sequence[str]) -> Iterator[Path]:
    """A folder for each answer, or just one; labels may be anything, and may be the same."""
    taken: set[str] = set()
    for label in labels:
        name = base = _UNSAFE.sub("_", label).strip(".")[:100] or "answer"
        number = 1
        while name.lower() in taken:
            number += 1
            name = f"{base}-{number}"
        taken.add(name.lower())
        yield directory / name if len(labels) > 1 else directory
