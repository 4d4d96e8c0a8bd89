"""Taking files out of a workspace: regular files only, whatever an agent left there."""

import os
from pathlib import Path

from rtl_agent.grading import submit_directory
from rtl_agent.problems import load_problems

PROBLEM = load_problems("bundled")[0]
TARGET = PROBLEM.targets[0]


def workspace(root: Path) -> Path:
    (root / TARGET).parent.mkdir(parents=True)
    return root / TARGET


def test_a_regular_file_is_taken(tmp_path: Path) -> None:
    workspace(tmp_path).write_text("module m; endmodule")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "conftest.py").write_text("evil")
    found = submit_directory(PROBLEM, tmp_path)
    assert found.files == {TARGET: "module m; endmodule"}
    assert found.unusable is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    workspace(tmp_path / "work").symlink_to(secret)
    found = submit_directory(PROBLEM, tmp_path / "work")
    assert not found.files
    assert found.unusable


def test_a_linked_directory_is_not_followed(tmp_path: Path) -> None:
    workspace(tmp_path / "elsewhere").write_text("module m; endmodule")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / TARGET.split("/")[0]).symlink_to((tmp_path / "elsewhere" / TARGET).parent)
    assert not submit_directory(PROBLEM, tmp_path / "work").files


def test_a_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(workspace(tmp_path))
    found = submit_directory(PROBLEM, tmp_path)
    assert not found.files
    assert "regular" in " ".join(found.refused)


def test_an_empty_workspace_says_what_was_looked_for(tmp_path: Path) -> None:
    assert TARGET in (submit_directory(PROBLEM, tmp_path).unusable or "")


def test_no_file_descriptor_is_left_open(tmp_path: Path) -> None:
    workspace(tmp_path).write_text("module m; endmodule")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        submit_directory(PROBLEM, tmp_path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
