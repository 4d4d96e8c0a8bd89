"""The record of pass rates: by problem and model, nothing counted twice, shared by processes, whole after kill -9."""

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from rtl_agent.difficulty import NEVER, PassRates, Tries, TriesOf

WRITER = """
import sys
from pathlib import Path
from rtl_agent.difficulty import PassRates, TriesOf
name, count = sys.argv[2], int(sys.argv[3])
rates = PassRates(Path(sys.argv[1]))
print("open", flush=True)
for step in range(count):
    rates.record("a model", f"{name} {step}", step, [TriesOf("first", 1, 3), TriesOf("second", 0, 4)])
    print(step, flush=True)
"""


def writer(file: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(file), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def counts(tries: Tries) -> tuple[int, int]:
    return tries.solved, tries.failed


def test_tries_add_up_by_problem_and_model(tmp_path: Path) -> None:
    before = time.time()
    with PassRates(tmp_path / "new" / "rates.sqlite") as rates:
        rates.record("a", "run 0", 0, [TriesOf("p", 1, 3), TriesOf("q", 0, 4)])
        rates.record("a", "run 1", 1, [TriesOf("p", 2, 2)])
        rates.record("b", "run 0", 0, [TriesOf("p", 4, 0)])
        found = rates.tries(["p", "q", "never"], model="a")
        assert {name: counts(one) for name, one in found.items()} == {"p": (3, 5), "q": (0, 4)}
        assert before <= found["p"].last <= time.time()
        assert counts(rates.tries()["p"]) == (7, 5)
        assert counts(rates.tries(["p"], model="a", untrained=True)["p"]) == (1, 3)
        assert rates.models() == ["a", "b"]
    assert (NEVER.tried, NEVER.rate) == (0, None)


def test_what_is_done_again_counts_once(tmp_path: Path) -> None:
    """A step that a killed run repeats, and an evaluation that goes on, replace what they found before."""
    with PassRates(tmp_path / "rates.sqlite") as rates:
        for _ in range(2):
            rates.record("a", "run 0", 0, [TriesOf("p", 1, 3)])
        rates.record("a", "evaluation", 0, [TriesOf("p", 0, 1)])
        rates.record("a", "evaluation", 0, [TriesOf("p", 1, 1)])
        assert counts(rates.tries(["p"])["p"]) == (2, 4)


def test_many_problems_are_asked_for_at_once(tmp_path: Path) -> None:
    with PassRates(tmp_path / "rates.sqlite") as rates:
        names = [str(number) for number in range(1_200)]
        rates.record("a", "run 0", 0, [TriesOf(name, 1, 0) for name in names])
        assert len(rates.tries(names)) == len(rates.tries()) == 1_200


def test_processes_share_it_and_kill_9_tears_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rates.sqlite"
    doomed = writer(file, "doomed", 1_000_000)
    others = [writer(file, f"other{number}", 60) for number in range(3)]
    for process in others:
        _, said = process.communicate(timeout=120)
        assert (process.returncode, said) == (0, "")
    doomed.send_signal(signal.SIGKILL)
    written = [line for line in doomed.communicate()[0].splitlines() if line != "open"]
    with sqlite3.connect(file) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (torn,) = connection.execute("SELECT count(*) % 2 FROM tries").fetchone()
    connection.close()
    assert torn == 0  # both problems of a step, or neither
    with PassRates(file) as rates:
        assert rates.tries()["first"].solved >= len(written) + 3 * 60
    assert not list(tmp_path.glob("*aside*"))


def test_a_file_of_something_else_is_moved_aside(tmp_path: Path) -> None:
    file = tmp_path / "rates.sqlite"
    file.write_bytes(b"no database at all, " * 500)
    with PassRates(file) as rates:
        rates.record("a", "run 0", 0, [TriesOf("p", 1, 0)])
        assert counts(rates.tries()["p"]) == (1, 0)
    assert list(tmp_path.glob("*aside*"))


def test_a_place_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with PassRates(tmp_path / "file" / "rates.sqlite") as rates:
        rates.record("a", "run 0", 0, [TriesOf("p", 1, 0)])
        assert rates.tries(["p"]) == {}
        assert rates.models() == []
