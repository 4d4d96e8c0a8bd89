"""Do the checks against hiding leave honest designs alone? CVDP's given files, through both of them.

    RTL_AGENT_CVDP=<folder> python scripts/hiding_cvdp.py [--timeout S]

Every set of given RTL files, and every bundled reference, is preprocessed and elaborated by Icarus and Verilator, and
differences are listed. Every problem that synthesises has its tests run on its given files and on their netlist, with
both timings: where the files pass, one of the netlists must; where they fail, they should fail for the same reason.
"""

import argparse
import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from rtl_agent.grading import submit
from rtl_agent.grading.fast import FastPath
from rtl_agent.grading.harness_python import simulates
from rtl_agent.grading.job import job_seed
from rtl_agent.grading.netlist import PLAN, netlist_plan
from rtl_agent.grading.same_branches import elaborated_differences
from rtl_agent.grading.same_text import differences, read_twice
from rtl_agent.grading.services import ServiceRun
from rtl_agent.problems import BUNDLED, Needs, Problem, load_problems, read_problems
from rtl_agent.sandbox import BoxSpec, BubblewrapSandbox
from rtl_agent.toolchain import find_toolchain

HDL, HEADERS = (".sv", ".v"), (".svh", ".vh")


def problems() -> Iterator[Problem]:
    for file in sorted(Path(os.environ["RTL_AGENT_CVDP"]).glob("*code_generation*.jsonl")):
        yield from (found for found in read_problems(file) if isinstance(found, Problem))


async def compare_texts(sets: Mapping[str, Mapping[str, str]]) -> None:
    tools = find_toolchain()
    spec = BoxSpec(mounts=tools.mounts("2.0.1"), links=tools.links())
    files = differing = 0
    for name, texts in sets.items():
        async with BubblewrapSandbox(slots=1).open(spec) as box:
            for path, text in {**texts, "rundir/x": ""}.items():
                await box.write(f"/code/{path}", text.encode(errors="replace"))
            sources = [f"/code/{path}" for path in texts if path.endswith(HDL)]
            found = await read_twice(box, sources, tools.env("2.0.1"))
        said = [found] if isinstance(found, str) else differences(*found, list(texts), None)
        if not isinstance(found, str):
            said += await elaborated_differences(BubblewrapSandbox(slots=1), tools, found[0].text, "")
        files += len(sources)
        differing += bool(said)
        if said:
            print(f"{name}: {'; '.join(said)}")
    print(f"{len(sets)} sets of {files} files, {differing} differ or have waivers", flush=True)


def summary(run: ServiceRun) -> str:
    return f"{'passed' if run.verdict.passed else 'failed'} {run.cpu_seconds:.1f} s"


async def compare_netlists(found: list[Problem], timeout: float) -> None:
    fast = FastPath(BubblewrapSandbox(slots=3), find_toolchain(), timeout_seconds=timeout)
    for problem in found:
        plans = [plan for service in problem.harness.services if (plan := netlist_plan(problem, service))]
        if not plans:
            continue
        submission = submit(problem, {path: problem.context.get(path, "") for path in problem.targets})
        simulating = next(service for service in problem.harness.services if simulates(problem, service))
        seed, runs = job_seed(problem, submission), []
        for more in ({}, {PLAN: json.dumps(plans[0])}, {PLAN: json.dumps({**plans[0], "late": True})}):
            env = {**simulating.env, **more}
            service = type(simulating)(**{**vars(simulating), "env": env})
            runs.append(await fast.run(problem, service, submission, seed))
        source, netlist, late = runs
        built = f"{netlist.verdict.netlists} netlists"
        print(f"{problem.id}: source {summary(source)}, {built} {summary(netlist)}, late {summary(late)}")
        for run in runs:
            print("".join(f"    {reason[:150]}\n" for reason in run.verdict.reasons[:1]), end="")
    await fast.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timeout", type=float, default=120.0)
    options = parser.parse_args()
    found = list(problems())
    sets = {}
    for problem in found:
        rtl = {path: text for path, text in problem.context.items() if path.endswith((*HDL, *HEADERS)) and text}
        rtl = {path: text for path, text in rtl.items() if "rtl/" in path}
        if any(path.endswith(HDL) for path in rtl) and rtl not in sets.values():
            sets[problem.id] = rtl
    sets |= {problem.id: dict(problem.reference) for problem in load_problems(BUNDLED) if problem.reference}
    open_tools = [problem for problem in found if problem.needs is Needs.OPEN_TOOLS]
    asyncio.run(compare_texts(sets))
    asyncio.run(compare_netlists(open_tools, options.timeout))


if __name__ == "__main__":
    main()
