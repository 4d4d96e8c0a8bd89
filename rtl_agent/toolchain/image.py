"""The tools of a container image, such as CVDP's own: what a grader needs to know of them, asked in a box of it.

Nothing is put over the image: it brings Icarus, Python with cocotb and pytest, and whatever else its harnesses call.
Only one file is mounted among its packages, which loads the probe where there is one.
"""

import asyncio
import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtl_agent.sandbox import BoxSpec, ContainerSandbox, Mount, Sandbox, SandboxError
from rtl_agent.toolchain.home import PROBE_PTH_FILE, HarnessPython
from rtl_agent.toolchain.missing import ToolMissing
from rtl_agent.toolchain.pins import CVDP_PINS
from rtl_agent.toolchain.toolchain import JUDGES, Tool, Toolchain
from rtl_agent.toolchain.versions import QUESTIONS, parse_version

_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")  # what tools of an image may need of its own
# The Python that the image's pytest stands on: that of its first line, the one beside it, or the image's python3.
_FIND = """
file=$(realpath "$(command -v pytest)") && python=$(sed -n '1s/^#! *//p' "$file" | cut -d ' ' -f 1)
case "$python" in
    *python*) ;;
    *) python=$(dirname "$file")/python3; [ -x "$python" ] || python=python3 ;;
esac
exec "$python" -c "$0" "$@"
"""
_ASK = """
import importlib.metadata, json, os, platform, shutil, site, subprocess, sys
def version(package):
    try: return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError: return ""
def said(tool, *words):
    path = shutil.which(tool)
    if path is None: return None
    done = subprocess.run([path, *words], stdin=subprocess.DEVNULL, capture_output=True)
    return [os.path.realpath(path), (done.stdout + done.stderr).decode(errors="replace")[:4000]]
sites = [path for path in site.getsitepackages() if os.path.isdir(path)]
print(json.dumps({
    "executable": sys.executable, "version": platform.python_version(), "prefix": sys.base_prefix, "site": sites[:1],
    "packages": {name: version(name) for name in ("cocotb", "pytest")},
    "tools": {name: said(name, *words) for name, words in json.loads(sys.argv[1]).items()},
}))
"""


@dataclass(frozen=True)
class ImageToolchain(Toolchain):
    """One image's tools. `of_machine` has those of this machine: the interface of a design is looked at with them."""

    digest: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    of_machine: Toolchain | None = None

    @property
    def here(self) -> Toolchain:
        return self.of_machine or self

    def harness(self, cocotb_version: str) -> HarnessPython:
        """The image's one Python, whichever cocotb a harness was written for: as CVDP runs it."""
        return next(iter(self.harness_pythons.values()))

    def mounts(self, cocotb_version: str) -> tuple[Mount, ...]:
        return (Mount(PROBE_PTH_FILE, str(self.harness(cocotb_version).home / PROBE_PTH_FILE.name)),)

    def path(self, cocotb_version: str) -> str:
        return self.variables.get("PATH", "/usr/local/bin:/usr/bin:/bin")

    def env(self, cocotb_version: str) -> dict[str, str]:
        python = str(self.harness(cocotb_version).python)
        return {**self.variables, "PATH": self.path(cocotb_version), "RTL_AGENT_PYTHON": python}

    def links(self) -> Mapping[str, str]:
        """Yosys finds its files through /proc/self/exe, and a box has no /proc."""
        yosys = self.tools["yosys"].path
        return {"/proc/self/exe": str(yosys)} if yosys else {}

    def fingerprint(self) -> tuple[tuple[str, str, int, int], ...]:
        return ()

    def _module(self, name: str, purpose: str) -> Path:
        raise ToolMissing("image", f"the module {purpose} is for this machine's simulator, and not for an image's")

    def versions(self, cocotb_version: str = "") -> Mapping[str, str]:
        programs = {name: self.tools[name].version for name in JUDGES if self.tools[name].version}
        python = self.harness(cocotb_version).python_version
        known = {**programs, **self.packages, "python": python, "image": f"{self.image} {self.digest}"}
        return {**known, "fallback": fallback} if (fallback := self.fallback()) else known

    def fallback(self) -> str:
        said = []
        for name in JUDGES:
            tool = self.tools[name]
            if tool.path is None:
                said.append(f"{name} is missing in the image (CVDP: {CVDP_PINS[name]})")
            elif tool.version != CVDP_PINS[name]:
                said.append(
                    f"{name} {tool.version or 'of an unknown version'} is the image's (CVDP: {CVDP_PINS[name]})"
                )
        return ", ".join(said)


def image_toolchain(sandbox: Sandbox, image: str, here: Toolchain) -> ImageToolchain:
    """Ask the image. SandboxError where it cannot run a harness."""
    if not isinstance(sandbox, ContainerSandbox):
        raise SandboxError(f"the tools of the image {image} need a container: sandbox=docker or sandbox=podman")
    # In a thread of its own: whoever wants to grade may be within a loop that runs.
    with ThreadPoolExecutor(1) as pool:
        digest, variables = pool.submit(sandbox.image_facts, image).result()
        facts = pool.submit(lambda: asyncio.run(_ask(sandbox, image, variables))).result()
    missing = [name for name in ("cocotb", "pytest") if not facts["packages"][name]]
    missing += [name for name in ("iverilog", "vvp") if not facts["tools"][name]]
    if missing or not facts["site"]:
        raise SandboxError(
            f"the image {image} cannot run harnesses: it has no {' and no '.join(missing or ['packages'])}"
        )
    tools = {}
    for name, found in facts["tools"].items():
        path, said = found or ("", "")
        version = parse_version(name, said)
        tools[name] = Tool(name, Path(path) if path else None, version, here.tools[name].wanted, origin="the image's")
    python = HarnessPython(
        version=facts["packages"]["cocotb"],
        home=Path(facts["site"][0]),
        python=Path(facts["executable"]),
        prefix=Path(facts["prefix"]),
        python_version=facts["version"],
        libpython=Path(facts["executable"]),
    )
    return ImageToolchain(
        tools,
        {python.version: python},
        image=image,
        digest=digest,
        variables={name: value for name, value in variables.items() if name in _VARIABLES},
        packages=facts["packages"],
        of_machine=here,
    )


async def _ask(sandbox: ContainerSandbox, image: str, variables: Mapping[str, str]) -> dict[str, Any]:
    questions = json.dumps({name: QUESTIONS[name][0] for name in ("iverilog", "vvp", "verilator", "yosys")})
    async with sandbox.open(BoxSpec(image=image, proc=True)) as box:
        done = await box.run(["sh", "-c", _FIND, _ASK, questions], env=variables)
    try:
        facts: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-300:]
        raise SandboxError(f"the image {image} cannot run harnesses: it has no pytest that starts ({said})") from error
    return facts
