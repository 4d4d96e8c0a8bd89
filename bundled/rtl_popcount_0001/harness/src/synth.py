import os
import re
import subprocess

LOG = "/code/rundir/synth.log"

# Ways to show the synthesiser something else than the simulator, in comments that it reads and in the code.
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
PRAGMA = re.compile(r"(//|/\*)\s*\w+\s+translate_off")
DISGUISE = re.compile(r"`(ifdef|ifndef|elsif|else)\b|\(\*(?!\s*\))")  # "@(*)" is not an attribute

# Yosys up to 0.5x prints "Number of cells:   160", later ones "160 cells", with an area column where areas are known.
METRIC = (r"^\s+Number of {0}:\s+(\d+)\s*$", r"^\s+(\d+)(?:\s+\S+)?\s+{0}\s*$")

# 26 full adders and 8 registers cannot be had for less; fewer cells mean that the design was not synthesised.
FEWEST_CELLS = 60


def read_metric(log, name):
    statistics = log[log.rindex("Printing statistics") :]
    modules = set(re.findall(r"^=== (.+) ===$", statistics, re.M))
    assert modules == {os.environ["TOPLEVEL"]}, f"modules after flattening: expected only the top, got {sorted(modules)}"
    for pattern in METRIC:
        found = re.findall(pattern.format(name), statistics, re.M)
        if found:
            return int(found[-1])
    raise AssertionError(f"no number of {name} in the statistics of {LOG}")


def test_source_has_no_disguise():
    for path in os.environ["VERILOG_SOURCES"].split():
        with open(path) as source:
            text = source.read()
        pragmas = (PRAGMA.match(comment) for comment in COMMENT_OR_STRING.findall(text))
        found = next(filter(None, pragmas), None) or DISGUISE.search(COMMENT_OR_STRING.sub(" ", text))
        assert found is None, f"{path}: expected plain RTL, got {found.group(0)!r}"


def test_synthesis_meets_the_target():
    if os.path.exists(LOG):
        os.remove(LOG)
    run = subprocess.run(f"yosys -s /src/synth.tcl -l {LOG}", shell=True, stdout=subprocess.DEVNULL)
    assert run.returncode == 0, f"yosys: expected exit code 0, got {run.returncode}"
    with open(LOG) as file:
        log = file.read()
    for name in os.environ["IMPROVEMENTS"].split():
        before = int(os.environ[name.upper()])
        percent = int(os.environ[f"PERCENT_{name.upper()}"])
        after = read_metric(log, name)
        assert after >= FEWEST_CELLS, f"{name}: {after} are too few for a design that works"
        assert 100 * (before - after) >= percent * before, (
            f"{name}: expected a reduction of {percent} % from {before}, got {after} ({100 * (before - after) / before:.1f} %)"
        )
