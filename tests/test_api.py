"""`import rtl_agent as ra`: every public name is there, importing costs nothing, and the examples run."""

import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import rtl_agent as ra
from rtl_agent.problems.checks import check_source

ROOT = Path(__file__).parents[1]
PRINTED = {
    "delay_lines": "example_delay_line_0008 passed",
    "grade": "* module `axis_skid_buffer` is missing; the file has `axi_stream_skid_buffer`",
    "latch_penalty": "with a latch: 1.2 of 1.4",
}


@pytest.mark.parametrize("name", ra.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(ra, name).__doc__


@pytest.mark.parametrize("name", ra.__all__)
def test_the_example_in_a_docstring_runs(name: str) -> None:
    thing = getattr(ra, name)
    text = inspect.getdoc(thing) or ""
    called = inspect.isfunction(thing) or name in ("Grader", "SyncGrader", "GradeCache", "Registry", "RewardWeights")
    if called and inspect.signature(thing).parameters:
        assert "Args:" in text
    if called and name != "train_async":  # as `train`
        assert ">>>" in text
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert doctest.DocTestRunner().run(example).failed == 0


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Graider'"):
        _ = ra.Graider


def test_importing_loads_no_heavy_package() -> None:
    heavy = "torch tinker tinker_cookbook transformers numpy chz ray"
    loaded = f"[name for name in {heavy.split()} if name in sys.modules]"
    code = f"import sys, rtl_agent as ra; ra.Grader; ra.load_problems; print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "examples").glob("*.py")))
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / f"{name}.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert PRINTED[name] in done.stdout


def test_the_package_says_that_it_has_types() -> None:
    assert (Path(ra.__file__).parent / "py.typed").is_file()


def test_the_example_of_a_problem_source_conforms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples")
    import delay_lines  # type: ignore[import-not-found]  # noqa: F401  # found by the line above; registers itself

    try:
        assert check_source("delay-lines") == []
    finally:
        ra.PROBLEM_SOURCES.unregister("delay-lines")
