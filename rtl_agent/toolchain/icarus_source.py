"""Icarus built from its source: for machines where no package fits, and for whoever has the tarball.

`python -m rtl_agent.toolchain.icarus_source` prints the packages that a build needs, for the set-up script.
"""

import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path

from rtl_agent.toolchain import apt
from rtl_agent.toolchain.building import InstallError, run
from rtl_agent.toolchain.icarus import INSIDE
from rtl_agent.toolchain.pins import ICARUS_SOURCE_IN_POOL, ICARUS_SOURCE_SHA256, ICARUS_SOURCE_UPSTREAM

TARBALL = "RTL_AGENT_ICARUS_SOURCE"
# What is needed to compile and simulate Verilog: without the other targets and VHDL the build takes half the CPU.
_PARTS = "ivlpp vvp vpi tgt-null tgt-vvp libveriuser driver"
_NEEDED = {
    "autoconf": "autoconf",
    "bison": "bison",
    "flex": "flex",
    "gperf": "gperf",
    "make": "make",
    "gcc": "g++",
    "g++": "g++",
}
# Without them the simulator has no line editor and writes no compressed wave files.
BUILD_PACKAGES = (*dict.fromkeys(_NEEDED.values()), "libreadline-dev", "zlib1g-dev", "libbz2-dev")


def missing_to_build() -> list[str]:
    """The programs that a build needs and that are not here."""
    return [program for program in _NEEDED if not shutil.which(program)]


def from_named_tarball(tree: Path) -> str:
    """Build the tarball that the user names."""
    named = os.environ[TARBALL]
    _ready_to_build()
    if not Path(named).is_file():
        raise InstallError(f"{TARBALL}={named} is not a file")
    _build(Path(named), tree)
    return f"built from {named}"


def from_archive(tree: Path) -> str:
    """Build the tarball in the pool of this machine's Debian or Ubuntu mirror."""
    _ready_to_build()
    mirror = apt.main_archive()
    file = ICARUS_SOURCE_IN_POOL[mirror.distribution]
    with tempfile.TemporaryDirectory() as scratch:
        tarball = Path(scratch) / Path(file).name
        apt.fetch(f"{mirror.uri}/{file}", ICARUS_SOURCE_SHA256, tarball)
        _build(tarball, tree)
    return f"built from {Path(file).name}"


def from_upstream(tree: Path) -> str:
    """Build upstream's own tarball, where the machine can reach it."""
    _ready_to_build()
    with tempfile.TemporaryDirectory() as scratch:
        tarball = Path(scratch) / "iverilog.tar.gz"
        try:
            with urllib.request.urlopen(ICARUS_SOURCE_UPSTREAM, timeout=60) as answer:  # noqa: S310 - https
                tarball.write_bytes(answer.read())
        except OSError as error:
            raise InstallError(f"could not get {ICARUS_SOURCE_UPSTREAM}: {error}") from error
        _build(tarball, tree)
    return "built from upstream's tag v13_0"


def _ready_to_build() -> None:
    if missing := missing_to_build():
        packages = " ".join(BUILD_PACKAGES)
        raise InstallError(f"a build needs {', '.join(missing)} (Debian, Ubuntu: apt-get install {packages})")


def _build(tarball: Path, tree: Path) -> None:
    found = hashlib.sha256(tarball.read_bytes()).hexdigest()
    if found != ICARUS_SOURCE_SHA256:
        raise InstallError(f"{tarball} has the SHA-256 {found}, not {ICARUS_SOURCE_SHA256}")
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(tarball) as archive:
            archive.extractall(scratch, filter="data")
        source = next(Path(scratch).iterdir())
        installed = Path(scratch) / "installed"
        run(["sh", "autoconf.sh"], "prepare the source of Icarus", cwd=source)
        flags = {"CFLAGS": "-O2", "CXXFLAGS": "-O2"}
        run(["./configure", f"--prefix={INSIDE}"], "configure Icarus", cwd=source, env=flags)
        jobs = str(len(os.sched_getaffinity(0)))
        run(["make", "-j", jobs, f"SUBDIRS={_PARTS}"], "build Icarus", cwd=source)
        run(["make", "install", f"SUBDIRS={_PARTS}", f"DESTDIR={installed}"], "install Icarus", cwd=source)
        for part in Path(f"{installed}{INSIDE}").iterdir():
            shutil.move(part, tree / part.name)


if __name__ == "__main__":
    sys.stdout.write(" ".join(BUILD_PACKAGES))
