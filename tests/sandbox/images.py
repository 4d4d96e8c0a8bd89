"""An image as CVDP's: a root of its own with a shell, Python, cocotb, pytest and Icarus, and nothing of rtl-agent's.

No registry can be reached in tests, so it is made of this machine's files.
"""

import io
import re
import subprocess
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from rtl_agent.sandbox.container.engine import Engine, EngineKind
from rtl_agent.toolchain import find_toolchain

NAME = "localhost/rtl-agent-test/cvdp-sim"
COCOTB = "2.0.1"
VENV = "opt/venv"
# What Python's own modules may load: not compilers, browsers and drivers.
OF_PYTHON = (
    r"lib(c|m|dl|pthread|util|rt|z|bz2|lzma|ffi|ssl|crypto|expat|uuid|sqlite3|readline|tinfo|python3|stdc\+\+|gcc_s)"
    r"[.\d-][^/]*$"
)
PACKAGES = ("coreutils", "findutils", "sed", "grep", "dash")


def make_image(kind: EngineKind) -> str:
    """Its name; made once for a daemon."""
    engine, tools = Engine(kind), find_toolchain()
    harness, iverilog = tools.harness(COCOTB), tools.tool("iverilog")
    assert iverilog.path is not None
    tree = iverilog.path.parent.parent
    inside = (iverilog.inside or str(tree)).strip("/")
    programs = [path for path in _files_of(PACKAGES) if "/bin/" in path]
    standard = Path(f"/usr/lib/python{harness.python_version.rpartition('.')[0]}")
    with io.BytesIO() as made:
        with tarfile.open(fileobj=made, mode="w") as archive:
            seen: set[str] = set()

            def add(path: str | Path, name: str, wanted: str = "", unwanted: str = "(^|/)__pycache__(/|$)") -> None:
                """A file or a tree once: engines take no name twice."""

                def take(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
                    inner = entry.name.removeprefix(name).strip("/")
                    if entry.name in seen or re.search(unwanted, inner) or (inner and not re.match(wanted, inner)):
                        return None
                    seen.add(entry.name)
                    return entry

                archive.add(path, name, filter=take)

            for name in ("bin", "lib", "lib64", "sbin"):
                add(f"/{name}", name)
            for path in sorted({*programs, str(harness.python), *_libraries([*programs, str(harness.python)])}):
                add(path, path.strip("/"))
                add(Path(path).resolve(), str(Path(path).resolve()).strip("/"))
            add("/etc/ld.so.cache", "etc/ld.so.cache")
            add(standard, str(standard).strip("/"), unwanted="(^|/)(test|idlelib|lib2to3|__pycache__)(/|$)")
            add("/usr/lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", wanted=OF_PYTHON)
            add(harness.home, VENV, unwanted="rtl_agent_probe|(^|/)__pycache__(/|$)")
            add(tree, inside)
            # What images often have, and a box must not: a place that everybody may write to, and a volume.
            for name in ("var/tmp", "data"):
                entry = tarfile.TarInfo(name)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
                archive.addfile(entry)
        said = engine.api.import_image_from_data(
            made.getvalue(), changes=[f"ENV PATH=/{VENV}/bin:/{inside}/bin:/usr/bin:/bin", "VOLUME /data"]
        )
    found = re.search(r"sha256:[0-9a-f]{64}", str(said))
    assert found, said
    engine.api.tag(found[0], NAME, tag="v1")
    return f"{NAME}:v1"


def _files_of(packages: Sequence[str]) -> list[str]:
    told = subprocess.run(["dpkg", "-L", *packages], capture_output=True, text=True, check=True).stdout
    paths = [Path(line) for line in told.splitlines() if line]
    return [f"/usr{path}" if not path.is_relative_to("/usr") else str(path) for path in paths if path.is_file()]


def _libraries(programs: Iterable[str]) -> set[str]:
    told = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return {f"/usr{path}" if path.startswith("/lib") else path for path in re.findall(r"(/\S+\.so\S*)", told)}
