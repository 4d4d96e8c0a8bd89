"""ChipBench from a checkout of zhongkaiyu/ChipBench: RTL from specifications, and RTL to debug.

    Verilog Gen/dataset_{self_contain,not_self_contain,cpu_ip}/ProbNNN_name_{prompt.txt,ref.sv,test.sv}
    Verilog Debugging/dataset_debug_{zero,one}_shot_{arithmetic,assignment,state_machine,timing}/...

Its reference models in Python, SystemC and CXXRTL ("Ref Model Gen") are no RTL, and are not read.
"""

from typing import TYPE_CHECKING

from rtl_agent.problems.problem import NoSuchProblems, Problem
from rtl_agent.problems.sets.bench import asked
from rtl_agent.problems.sets.known_bad import CHIPBENCH
from rtl_agent.problems.sets.verilog_eval import read_folder

if TYPE_CHECKING:
    from rtl_agent.problems.sources import LoadOptions

_GENERATION = {"self_contain": "self", "not_self_contain": "hierarchy", "cpu_ip": "cpu"}
_BUGS = {"arithmetic": "arithmetic", "assignment": "assignment", "state_machine": "fsm", "timing": "timing"}
PARTS = ("gen", "debug", "debug-one-shot")


def chipbench_source(argument: str, options: "LoadOptions") -> list[Problem]:
    """`chipbench:PATH[,part=gen|debug|debug-one-shot][,all]`."""
    wanted = asked("chipbench", argument, {"part": PARTS})
    part = wanted.settings["part"]
    if part == "gen":
        above, category = wanted.path / "Verilog Gen", "cid003"
        folders = {f"dataset_{name}": f"chipbench-{short}" for name, short in _GENERATION.items()}
    else:
        above, category = wanted.path / "Verilog Debugging", "cid016"
        shots = "one" if part == "debug-one-shot" else "zero"
        folders = {f"dataset_debug_{shots}_shot_{name}": f"chipbench-{part}-{short}" for name, short in _BUGS.items()}
    found = [above / name for name in folders if (above / name).is_dir()]
    if not found:
        raise NoSuchProblems(f"{wanted.path} is no checkout of ChipBench: {above} has none of {', '.join(folders)}")
    left_out = {} if wanted.every else CHIPBENCH
    return [
        problem
        for folder in found
        for problem in read_folder(folder, folders[folder.name], category, left_out, options.on_bad)
    ]
