"""What every installation shares: one at a time, complete or not at all, failures told in a sentence."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

Say = Callable[[str], None]


class InstallError(Exception):
    """Something could not be installed. The message says what was tried and how it ended."""


@contextmanager
def one_at_a_time(file: Path, say: Say) -> Iterator[None]:
    """Wait while another process installs."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another process is installing; waiting for it ...")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def complete(target: Path) -> Iterator[Path]:
    """A directory to build in. It takes the place of `target` at the end, or vanishes after an exception."""
    # A root's umask of 077 would leave files that the sandbox's users cannot read.
    old_umask = os.umask(0o022)
    building = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".building-{target.name}-"))
    try:
        building.chmod(0o755)
        yield building
        _replace(building, target)
    finally:
        os.umask(old_umask)
        shutil.rmtree(building, ignore_errors=True)


def run(argv: Sequence[str], purpose: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """What a command printed; InstallError with its last lines when it fails."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            cwd=cwd,
            env={**clean, **(env or {})},
            check=False,
        )
    except OSError as error:
        raise InstallError(f"could not {purpose}: {error}") from error
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise InstallError(f"could not {purpose}:\n{last}")
    return done.stdout


def _replace(building: Path, target: Path) -> None:
    """A rename, so that nobody ever sees half an installation under the final name."""
    if target.exists():
        old = Path(tempfile.mkdtemp(dir=target.parent, prefix=".old-"))
        target.rename(old / target.name)
        building.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        building.rename(target)
