"""RTLLM v2 from a checkout of hkust-zhiyao/RTLLM.

Arithmetic/Adder/adder_8bit/{design_description.txt,testbench.v,verified_adder_8bit.v}, and data that benches read
"""

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rtl_agent.problems.problem import BadRecord, Kind, Needs, NoSuchProblems, Problem
from rtl_agent.problems.sets.bench import VerilogBench, asked, renamed, text_of, words
from rtl_agent.problems.sets.known_bad import RTLLM

if TYPE_CHECKING:
    from rtl_agent.problems.sources import LoadOptions

DESCRIPTION, BENCH = "design_description.txt", "testbench.v"
# Its auto_run.py takes every output with "Pass" or "pass" in it. That passes ring_counter whatever the design does,
# since its bench says "Failed" for each wrong value and "Passed" at the end: a bench that says so fails here.
PASSES = r"[Pp]ass"
FAILS = (r"(?i)\bfail", r"(?i)\berror")
_TIMESCALE = "`timescale 1ns/1ns\n"  # of its makefiles: vcs -timescale=1ns/1ns
_NAME = re.compile(r"Module name:\s*`?(\w+)")
_DATA = (".dat", ".txt", ".hex", ".mem")


def rtllm_source(argument: str, options: "LoadOptions") -> list[Problem]:
    """`rtllm:PATH[,all]`."""
    wanted = asked("rtllm", argument, {})
    problems = []
    for description in sorted(wanted.path.rglob(DESCRIPTION)):
        if not (description.parent / BENCH).is_file() and any(description.parent.glob("*/")):
            continue
        try:
            problem = _read(description.parent)
        except BadRecord as bad:
            if options.on_bad is None:
                raise
            options.on_bad(bad)
            continue
        if wanted.every or description.parent.name not in RTLLM:
            problems.append(problem)
    if not problems:
        raise NoSuchProblems(f"{wanted.path} has no problems of RTLLM's form: a {DESCRIPTION} beside a {BENCH}")
    return problems


def _read(folder: Path) -> Problem:
    prompt, bench = text_of(folder / DESCRIPTION), text_of(folder / BENCH)
    references = sorted(folder.glob("verified_*.v"))
    if len(references) != 1:
        raise BadRecord(folder, 0, "verified_*.v", f"there are {len(references)} of them; one reference is needed")
    reference = text_of(references[0])
    module = _module(folder, prompt, bench)
    top = _uppermost(folder, reference, module)
    target = f"rtl/{module}.v"
    data = {path.name: text_of(path) for path in sorted(folder.iterdir()) if _is_data(path)}
    verilog = VerilogBench(
        module=module,
        bench=[bench],
        reference=reference,
        passes=PASSES,
        fails=FAILS,
        reference_module=top,
        defaults=_TIMESCALE,
        data=data,
    )
    return Problem(
        id=f"rtllm_{folder.name}_0001",
        family=folder.name,
        category="cid003",
        difficulty="medium",
        kind=Kind.SINGLE_SHOT,
        needs=Needs.OPEN_TOOLS,
        prompt=prompt.strip(),
        context={},
        targets=(target,),
        harness=verilog.harness(target),
        reference={target: renamed(reference, {top: module})},
        source=str(folder),
    )


def _is_data(path: Path) -> bool:
    return path.is_file() and path.suffix in _DATA and path.name != DESCRIPTION


def _module(folder: Path, prompt: str, bench: str) -> str:
    """The name that the description asks for, where the bench knows it; else the folder's."""
    said = _NAME.search(prompt)
    names = [*([said[1]] if said else []), folder.name]
    known = set(words(bench))
    return next((name for name in names if name in known), names[0])


def _uppermost(folder: Path, reference: str, module: str) -> str:
    """Of the modules of a reference the one that no other has below it: its name stands there once."""
    found = words(reference)
    declared = [name for before, name in itertools.pairwise(found) if before in ("module", "macromodule")]
    if module in declared:
        return module
    above = [name for name in declared if found.count(name) == 1]
    if not above:
        raise BadRecord(folder, 0, "verified_*.v", "declares no module that could be the design")
    return above[0]
