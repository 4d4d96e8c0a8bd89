"""The harness's Python is one that vvp can load."""

from pathlib import Path

import pytest

from rtl_agent.toolchain import ToolMissing, interpreter
from rtl_agent.toolchain.interpreter import Interpreter, choose_interpreter, examine


def test_chosen_python_has_a_shared_library() -> None:
    chosen = choose_interpreter()
    assert (3, 11) <= chosen.version[:2] <= (3, 13)
    assert chosen.libpython.read_bytes()[:4] == b"\x7fELF"
    assert isinstance(examine(str(chosen.executable)), Interpreter)


def python_that_answers(path: Path, facts: str) -> str:
    path.write_text(f"#!/bin/sh\necho '{facts}'\n")
    path.chmod(0o755)
    return str(path)


FACTS = '{"version": [3, %d, 0], "executable": "/usr/bin/x", "prefix": "/usr", "libpython": "%s", "venv": true}'


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (FACTS % (9, "/usr/lib/libpython3.9.so"), "is Python 3.9"),
        (FACTS % (14, "/usr/lib/libpython3.14.so"), "is Python 3.14"),
        (FACTS % (12, ""), "has no shared libpython (Debian, Ubuntu: apt-get install libpython3.12)"),
    ],
)
def test_unfit_python_is_refused_with_the_reason(tmp_path: Path, facts: str, reason: str) -> None:
    assert examine(python_that_answers(tmp_path / "python3", facts)) == reason


def test_broken_python_is_refused() -> None:
    assert examine("/bin/false") == "does not start"
    assert str(examine("/nowhere/python3")).startswith("does not start")


def test_error_lists_every_python_that_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = python_that_answers(tmp_path / "python3", FACTS % (10, "/x.so"))
    monkeypatch.setattr(interpreter, "_candidates", lambda: iter([old, "/bin/false"]))
    with pytest.raises(
        ToolMissing, match=r"is Python 3\.10; /bin/false: does not start\).*install Python 3\.11 to 3\.13"
    ):
        choose_interpreter()
