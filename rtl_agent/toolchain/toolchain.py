"""The tools of this machine as a grader needs them: what to mount in a box, its PATH, its links, the versions.

The module that keeps a simulator warm is compiled here too: once for this machine's Icarus, kept in the tool root.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rtl_agent.sandbox.protocol import Mount
from rtl_agent.toolchain.home import HarnessPython, home
from rtl_agent.toolchain.missing import ToolMissing
from rtl_agent.toolchain.pins import COCOTB_VERSIONS, CVDP_PINS
from rtl_agent.toolchain.versions import wheel_version

SHIMS = Path(__file__).parent / "shims"
SHIMS_INSIDE = "/opt/rtl-agent/bin"
JUDGES = ("iverilog", "verilator", "yosys")  # what can change a verdict
_SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")


@dataclass(frozen=True)
class Tool:
    """One program: where it is, which version, which one CVDP has, and what the difference means."""

    name: str
    path: Path | None  # None: not found
    version: str  # "" when it was not found or does not report one
    wanted: str = ""  # CVDP's pin; "" when it has none
    note: str = ""
    required: bool = False  # without it nothing can be graded
    inside: str = ""  # where a box has its tree; "" for the same place as on this machine
    origin: str = ""  # "" for the pinned one in our tool root, else whose it is, such as "the system's"


@dataclass(frozen=True)
class Toolchain:
    """What `find_toolchain` found. `cocotb_version` is "2.0.1" or "1.9.2"."""

    tools: Mapping[str, Tool]
    harness_pythons: Mapping[str, HarnessPython]
    image: str = ""  # the container image that they are in; "" for this machine

    @property
    def here(self) -> "Toolchain":
        """Those of this machine."""
        return self

    def tool(self, name: str) -> Tool:
        """A tool that is there, or ToolMissing."""
        found = self.tools.get(name)
        if found is None or found.path is None:
            raise ToolMissing(name)
        return found

    def harness(self, cocotb_version: str) -> HarnessPython:
        """The Python that harnesses of this cocotb_version run on, or ToolMissing."""
        found = self.harness_pythons.get(cocotb_version)
        if found is None:
            raise ToolMissing("cocotb", f"the harness environment with cocotb {cocotb_version} is not installed")
        return found

    def mounts(self, cocotb_version: str) -> tuple[Mount, ...]:
        """What a box needs beside the system's /usr, all read-only."""
        harness = self.harness(cocotb_version)
        python = () if _in_usr(harness.prefix) else (Mount(harness.prefix, str(harness.prefix)),)
        own = (Mount(harness.home, harness.inside), Mount(SHIMS, SHIMS_INSIDE))
        return tuple(dict.fromkeys((*own, *self._trees(), *python)))

    def path(self, cocotb_version: str) -> str:
        """PATH inside a box. The shims go first: `pytest` must be the harness's, whatever the system has."""
        self.harness(cocotb_version)
        own = dict.fromkeys(f"{tree.target}/bin" for tree in self._trees())
        return ":".join((SHIMS_INSIDE, *own, *_SYSTEM_PATH))

    def env(self, cocotb_version: str) -> dict[str, str]:
        """The variables that the tools themselves need inside a box."""
        return {"PATH": self.path(cocotb_version), "RTL_AGENT_PYTHON": self.harness(cocotb_version).executable}

    def links(self) -> Mapping[str, str]:
        """Links a box needs: the system's Yosys finds its files through /proc/self/exe, and a box has no /proc."""
        yosys = self.tools.get("yosys")
        return {"/proc/self/exe": str(yosys.path)} if yosys and yosys.path and not yosys.inside else {}

    def fingerprint(self) -> tuple[tuple[str, str, int, int], ...]:
        """What changes when a tool is replaced: a warm process still has the old one."""
        found = []
        for tool in self.tools.values():
            if tool.path is not None:
                with suppress(OSError):
                    status = os.stat(tool.path)  # noqa: PTH116  (for every grade)
                    found.append((tool.name, str(tool.path), status.st_mtime_ns, status.st_size))
        return tuple(found)

    def warm_start(self) -> Path:
        """The directory of the module that keeps a simulator warm; ToolMissing where it cannot be built."""
        return self._module("warm_start", "that keeps simulators warm")

    def dump(self) -> Path:
        """The directory of the module that writes a simulation's waves; ToolMissing where it cannot be built."""
        return self._module("dump", "that writes waves")

    def _module(self, name: str, purpose: str) -> Path:
        iverilog = self.tool("iverilog")
        assert iverilog.path is not None
        return module_directory(name, purpose, iverilog.path, iverilog.version)

    def versions(self, cocotb_version: str = COCOTB_VERSIONS[0]) -> Mapping[str, str]:
        """Everything that can change a verdict, for the grade and for the cache's key."""
        harness = self.harness(cocotb_version)
        programs = {name: self.tools[name].version for name in JUDGES if name in self.tools}
        versions = {
            **{name: version for name, version in programs.items() if version},
            "cocotb": cocotb_version,
            "pytest": wheel_version(harness.site_packages, "pytest"),
            "python": harness.python_version,
        }
        fallback = self.fallback()
        return {**versions, "fallback": fallback} if fallback else versions

    def fallback(self) -> str:
        """Which tools are not the pinned ones, "" when all are: "iverilog 11.0 is the system's (CVDP: 13.0)"."""
        said = []
        for name in JUDGES:
            tool = self.tools.get(name)
            if tool is None or tool.path is None:
                said.append(f"{name} is missing (CVDP: {CVDP_PINS[name]})")
            elif tool.origin:
                said.append(f"{name} {tool.version} is {tool.origin} (CVDP: {CVDP_PINS[name]})")
        return ", ".join(said)

    def warning(self) -> str:
        """What to tell a reader of verdicts whose tools are not CVDP's; "" where they are."""
        return fallback_warning({"fallback": self.fallback()})

    def _trees(self) -> list[Mount]:
        """The prefixes of simulators and synthesisers that are not in /usr, in the order of PATH."""
        found = (self.tools.get(name) for name in ("iverilog", "yosys"))
        trees = [(tool.path.parent.parent, tool.inside) for tool in found if tool and tool.path]
        return [Mount(tree, inside or str(tree)) for tree, inside in trees if inside or not _in_usr(tree)]


def fallback_warning(versions: Mapping[str, str]) -> str:
    """The same for the tools that a grade names."""
    fallback = versions.get("fallback", "")
    return f"verdicts can differ from CVDP's: {fallback}; `rtl-agent setup` installs CVDP's" if fallback else ""


def _in_usr(tree: Path) -> bool:
    # /bin, /lib and /lib64 are links into /usr on every system that we support.
    return tree == Path("/") or tree.is_relative_to("/usr")


SOURCES = Path(__file__).parent / "vpi"


_BESIDE = {"warm_start": ("warm_tool",)}  # what is built into the same directory


@cache  # asked for each grade, and reading the files took 0.3 ms
def module_directory(name: str, purpose: str, iverilog: Path, version: str) -> Path:
    """The directory that holds NAME.vpi, built if it is not there. ToolMissing where it cannot be built."""
    sources = [SOURCES / f"{each}.c" for each in (name, *_BESIDE.get(name, ()))]
    headers = iverilog.parent.parent / "include" / "iverilog"
    try:
        interface = (headers / "vpi_user.h").read_bytes()
    except OSError as error:
        what = f"{headers}/vpi_user.h was not found: it is needed to build the module {purpose}"
        raise ToolMissing("iverilog", what) from error
    texts = b"".join(source.read_bytes() for source in sources)
    key = hashlib.sha256(texts + interface + version.encode()).hexdigest()[:16]
    target = home() / f"vpi-{key}"
    if not (target / f"{name}.vpi").exists():
        _build(sources, headers, target)
    return target


def _build(sources: Sequence[Path], headers: Path, target: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        raise ToolMissing("cc")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        place = Path(scratch) / "done"
        place.mkdir()
        place.chmod(0o755)
        for source in sources:
            built = place / f"{source.stem}.vpi"
            # As Icarus' own iverilog-vpi does it, which has the paths of its installation written in.
            argv = [compiler, "-O2", "-fPIC", "-shared", f"-I{headers}", "-o", str(built), str(source)]
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            if done.returncode != 0 or not built.exists():
                said = (done.stdout + done.stderr)[-400:]
                raise ToolMissing("cc", f"{compiler} could not build {source.name}: {said}")
            built.chmod(0o755)
        try:
            place.rename(target)
        except OSError:  # another process was faster
            if not os.path.exists(target / built.name):  # noqa: PTH110
                raise
