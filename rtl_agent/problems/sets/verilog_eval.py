"""VerilogEval v2 from a checkout of NVlabs/verilog-eval: specification to RTL, and code completion.

    dataset_spec-to-rtl/ProbNNN_name_{prompt.txt,ref.sv,test.sv}
    dataset_code-complete-iccad2023/ProbNNN_name_{prompt.txt,ifc.txt,ref.sv,test.sv}

ChipBench has its files in the same form.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rtl_agent.problems.cvdp import OnBad
from rtl_agent.problems.problem import BadRecord, Kind, Needs, NoSuchProblems, Problem
from rtl_agent.problems.sets.bench import VerilogBench, asked, renamed, text_of
from rtl_agent.problems.sets.known_bad import VERILOG_EVAL

if TYPE_CHECKING:
    from rtl_agent.problems.sources import LoadOptions

TARGET = "rtl/TopModule.sv"
TASKS = {"spec": "dataset_spec-to-rtl", "complete": "dataset_code-complete-iccad2023"}
# As scripts/sv-iv-analyze reads a log. No samples at all are no pass.
PASSES = r"^Mismatches: 0 in [1-9]\d* samples$"
FAILS = ("TIMEOUT",)
_STEM = re.compile(r"Prob(?P<number>\d+)_(?P<name>[\w.-]+)_prompt\.txt")
_COMPLETE = """\
{description}

Write the whole module, with its header as it is here:

{interface}
"""


def verilog_eval_source(argument: str, options: "LoadOptions") -> list[Problem]:
    """`verilog-eval:PATH[,task=spec|complete][,all]`: a checkout, or one of its dataset directories."""
    wanted = asked("verilog-eval", argument, {"task": tuple(TASKS)})
    task = wanted.settings["task"]
    folder = wanted.path / TASKS[task]
    if not folder.is_dir():
        folder = wanted.path
        task = "complete" if any(folder.glob("Prob*_ifc.txt")) else "spec"
    name, category = ("verilogeval", "cid003") if task == "spec" else ("verilogeval-complete", "cid002")
    left_out = {} if wanted.every else VERILOG_EVAL
    return read_folder(folder, name, category, left_out, options.on_bad)


def read_folder(
    folder: Path, name: str, category: str, left_out: Mapping[str, str], on_bad: OnBad | None
) -> list[Problem]:
    """Every problem of a folder in VerilogEval's form."""
    problems = []
    for prompt in sorted(folder.glob("Prob*_prompt.txt")):
        try:
            problem = _read(prompt, name, category)
        except BadRecord as bad:
            if on_bad is None:
                raise
            on_bad(bad)
            continue
        if prompt.name.removesuffix("_prompt.txt") not in left_out:
            problems.append(problem)
    if not problems:
        raise NoSuchProblems(f"{folder} has no problems of this form: ProbNNN_name_prompt.txt, _ref.sv and _test.sv")
    return problems


def _read(prompt: Path, name: str, category: str) -> Problem:
    found = _STEM.fullmatch(prompt.name)
    if found is None:
        raise BadRecord(prompt, 0, "name", "should be ProbNNN_name_prompt.txt")
    stem = prompt.name.removesuffix("_prompt.txt")
    texts = {part: text_of(prompt.with_name(f"{stem}_{part}")) for part in ("prompt.txt", "ref.sv", "test.sv")}
    interface = prompt.with_name(f"{stem}_ifc.txt")
    asked_for = texts["prompt.txt"].strip()
    if interface.is_file():
        header = text_of(interface).strip()
        description = asked_for.partition("module TopModule")[0].strip() or asked_for
        asked_for = _COMPLETE.format(description=description, interface=header).strip()
    bench = VerilogBench(
        module="TopModule",
        bench=[texts["test.sv"]],
        reference=texts["ref.sv"],
        passes=PASSES,
        fails=FAILS,
        reference_module="RefModule",
        compares=True,
        top="tb",
    )
    return Problem(
        id=f"{name}_{found['name']}_{int(found['number']):04d}",
        family=found["name"],
        category=category,
        difficulty="medium",
        kind=Kind.SINGLE_SHOT,
        needs=Needs.OPEN_TOOLS,
        prompt=asked_for,
        context={},
        targets=(TARGET,),
        harness=bench.harness(TARGET),
        reference={TARGET: renamed(texts["ref.sv"], {"RefModule": "TopModule"})},
        source=str(prompt),
    )
