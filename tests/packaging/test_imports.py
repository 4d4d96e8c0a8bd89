"""What the package imports is what it declares, and the core works where nothing else is installed."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest

from rtl_agent.cli.console import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# They run under other interpreters: the harness's Python has cocotb, pytest and pyslang.
ELSEWHERE = (
    "grading/probe",
    "grading/interface/worker.py",
    "audit/inside",
    "problems/generate/harness",
    "problems/template",
    "launcher",
)


def name_of(requirement: str) -> str:
    """The distribution that a requirement is about, as metadata spells it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[]", requirement, maxsplit=1)[0]).lower()


CORE = [name_of(one) for one in PROJECT["dependencies"]]
DECLARED = {extra: [name_of(one) for one in PROJECT["optional-dependencies"][extra]] for extra in EXTRAS}


def imported() -> Iterator[tuple[str, Path]]:
    """Every module from outside the standard library that the package imports, at the top of a file or inside."""
    for file in (ROOT / "rtl_agent").rglob("*.py"):
        if any(part in str(file) for part in ELSEWHERE):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            for name in names:
                top = name.partition(".")[0]
                if top not in sys.stdlib_module_names and top not in ("rtl_agent", "_typeshed"):
                    yield top, file


def test_every_import_is_declared() -> None:
    known = {module: set(map(name_of, names)) for module, names in packages_distributions().items()}
    declared = {*CORE, *(name for names in DECLARED.values() for name in names)}
    for module, file in imported():
        brought_by = known.get(module, {name_of(module)})
        assert brought_by & declared, f"{file} imports {module}, which pyproject.toml does not name"


def test_the_command_line_knows_which_extra_brings_a_module() -> None:
    known = {module: set(map(name_of, names)) for module, names in packages_distributions().items()}
    for module in {module for module, _ in imported()}:
        brought_by = known.get(module, {name_of(module)})
        if brought_by & set(CORE):
            continue
        extras = [extra for extra, names in DECLARED.items() if brought_by & set(names)]
        assert [extra for extra, modules in EXTRAS.items() if module in modules] == extras, module


def core_distributions() -> set[str]:
    """The core's requirements, and theirs."""
    found: set[str] = set()
    todo = list(CORE)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        try:
            todo += [name_of(one) for one in requires(name) or () if "extra ==" not in one]
        except PackageNotFoundError:  # for another platform
            continue
    return found


@cache
def absent() -> frozenset[str]:
    """Every module that is installed here and is none of the core's. Looking through all packages takes a second."""
    core = core_distributions()
    modules = {module for module, names in packages_distributions().items() if {name_of(n) for n in names} & core}
    found = {*packages_distributions(), *(name for names in EXTRAS.values() for name in names)}
    return frozenset(found - {*modules, *sys.stdlib_module_names, "rtl_agent"})


BLOCKED = """
import sys
class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Nowhere())
"""


def run_with_the_core_only(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As in an environment that holds the core alone: whatever else is installed here cannot be imported."""
    text = f"ABSENT = {set(absent())!r}\n{BLOCKED}\n{program}"
    command = [sys.executable, "-c", text, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)


COMMAND = "from rtl_agent.cli.main import run\nrun()"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["problems", "list"],
        ["problems", "stats", "generated:mux"],
        ["grade", "--help"],
        ["train", "--help"],
        ["eval", "--help"],
        ["bench", "--help"],
        ["setup", "--help"],
        ["runs", "--help"],
        ["report", "--help"],
        ["models", "--help"],
    ],
    ids=" ".join,
)
def test_the_core_is_enough_for_looking_and_for_help(arguments: list[str]) -> None:
    done = run_with_the_core_only(COMMAND, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_core_is_enough_for_a_reward_function() -> None:
    program = (
        "import rtl_agent as ra\nprint(len(ra.load_problems('bundled')), ra.Grader.__name__, ra.SyncGrader.__name__)"
    )
    done = run_with_the_core_only(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["18", "Grader", "SyncGrader"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "rl"],
        ["demo"],
        ["eval", "generated", "--model", "m"],
        ["play", "generated", "--model", "m"],
        ["serve", "m"],
        ["bench", "backend"],
        ["pretrain", "teacher", "--out", "nowhere"],
        ["models", "list"],
        ["models", "fetch", "smollm2-135m-instruct"],
        ["models", "import", "pyproject.toml", "nowhere"],
    ],
    ids=" ".join,
)
def test_a_command_that_needs_the_train_extra_says_so_in_a_sentence(arguments: list[str]) -> None:
    done = run_with_the_core_only(COMMAND, *arguments)
    assert done.returncode in (2, 3), done.stderr
    assert "pip install 'rtl-agent[train]'" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
