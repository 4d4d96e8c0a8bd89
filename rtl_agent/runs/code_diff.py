"""Which code made a run: the commit, and what the working tree had beside it."""

import subprocess
from pathlib import Path

_SECONDS = 30


def code_diff(folder: Path) -> str:
    """A patch that `git apply` takes, under a line with its commit; a note where there is no git checkout."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    commit = _git(folder, "rev-parse", "HEAD")
    if top is None or commit is None:
        return "# no git checkout, so there is nothing to compare the code with\n"
    checkout = Path(top.removesuffix("\n"))
    diff = _git(checkout, "diff", "HEAD", "--no-color", "--no-ext-diff") or ""
    untracked = _git(checkout, "ls-files", "--others", "--exclude-standard") or ""
    names = "".join(f"# not in git: {name}\n" for name in untracked.splitlines())
    return f"# commit {commit.strip()}\n{names}{diff}"


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace")
