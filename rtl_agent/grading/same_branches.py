"""Does a linter elaborate what the simulator elaborates? Both are asked which branches of a design they take.

Text that both tools read alike can still be two designs: constants that they compute differently choose another branch
of a `generate`, another width. `probe/rtl_agent_branches.py` does the work, in a box: slang parses what a model wrote.
"""

import json
from typing import Any

from rtl_agent.grading.workspace import PROBE, PROBE_INSIDE
from rtl_agent.problems import CocotbVersion
from rtl_agent.sandbox import MIB, BoxSpec, Limits, Mount, Sandbox
from rtl_agent.toolchain import Toolchain

_LIMITS = Limits(wall_seconds=60, cpu_seconds=30)  # 0.11 s of CPU for a bundled reference
_TEXT = "/tmp/design.sv"


async def elaborated_differences(sandbox: Sandbox, toolchain: Toolchain, text: str, top: str) -> list[str]:
    """Blocks, parameters and widths of a preprocessed text that Icarus and Verilator do not share, in sentences."""
    toolchain, version = toolchain.here, CocotbVersion.V2  # the environment that has pyslang
    mounts = (*toolchain.mounts(version), Mount(PROBE, PROBE_INSIDE))
    spec = BoxSpec(mounts=mounts, links=toolchain.links(), disk_bytes=256 * MIB)
    async with sandbox.open(spec) as box:
        await box.write(_TEXT, text.encode(errors="replace"))
        command = [toolchain.harness(version).executable, f"{PROBE_INSIDE}/rtl_agent_branches.py", _TEXT, top]
        done = await box.run(command, env=toolchain.env(version), cwd="/tmp", limits=_LIMITS)
    answer = _answer(done.stdout) if done.ok else {}
    if "differences" in answer:
        return [f"the linter elaborates another design: {one}" for one in map(str, answer["differences"])]
    if answer.get("problem") == "":
        return []
    return [f"its branches cannot be compared: {answer.get('problem') or done.ended}"]


def _answer(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
