"""PROBLEMS resolves in one place, and every source that comes with the package does what a source must do."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rtl_agent.problems import (
    PROBLEM_SOURCES,
    BadRecord,
    Kind,
    LoadOptions,
    NoSuchProblems,
    Problem,
    ProblemGenerator,
    Split,
    as_record,
    bundled_path,
    find_source,
    load_problems,
)
from rtl_agent.problems.checks import CHECKS, check_source
from rtl_agent.problems.generate import HELD_OUT_WHOLE, TRAINED, generate

OWN = Path(__file__).parents[2] / "bundled"
HERE = ["bundled", str(bundled_path()), str(OWN), "generated", "generated:new", "generated-workspaces:mux,count=4"]


@pytest.mark.parametrize("source", HERE)
def test_a_source_of_ours_conforms(source: str) -> None:
    assert check_source(source) == []


def test_a_source_of_a_file_conforms(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text("".join(json.dumps(as_record(problem)) + "\n" for problem in generate(1, 3)))
    assert check_source(str(file)) == []
    assert load_problems(str(file)) == generate(1, 3)


@pytest.mark.cvdp
def test_cvdps_own_files_conform(cvdp: Path) -> None:
    assert check_source(str(cvdp)) == []


def broken(problems: list[Problem], fault: str) -> list[Problem]:
    first, second, *_ = problems
    return {
        "has_problems": [],
        "ids_are_unique": [first, first],
        "ids_have_their_form": [replace(first, id="fifo")],
        "loads_the_same_again": [first, second],  # and in another order the second time, below
        "says_what_it_skips": [first, second],
        "paths_are_safe": [replace(first, context={"../secret": "x"})],
        "can_be_asked_and_judged": [replace(first, prompt=" ")],
        "does_not_show_the_harness": [replace(first, context={"a.py": first.harness.files["src/replay.py"]})],
        "survives_a_file": [replace(first, answer="prose", reference=None, targets=("a.v", "a.v"))],
    }[fault]


@pytest.mark.parametrize("fault", [check.__name__ for check in CHECKS if check.__name__ != "draws_by_seed"])
def test_a_source_that_does_not_conform_is_found_out(fault: str) -> None:
    problems, calls = broken(generate(1, 2), fault), []

    @PROBLEM_SOURCES.register("broken")
    def source(argument: str, options: LoadOptions) -> list[Problem]:
        calls.append(options)
        if fault == "loads_the_same_again" and len(calls) == 2:
            return problems[::-1]
        return problems[:1] if fault == "says_what_it_skips" and options.on_bad else problems

    try:
        assert any(said.startswith(f"{fault}: ") for said in check_source("broken:whatever"))
    finally:
        PROBLEM_SOURCES.unregister("broken")


def test_a_generator_that_depends_on_how_many_are_drawn_is_found_out() -> None:
    class Hasty:
        families, new_families = TRAINED, HELD_OUT_WHOLE

        def __call__(self, argument: str, options: LoadOptions) -> list[Problem]:
            return self.draw(1, 2)

        def draw(self, seed: int, count: int, *, families: object = (), split: Split = Split.TRAIN) -> list[Problem]:
            return generate(count, count)

    PROBLEM_SOURCES.register("hasty")(Hasty())
    try:
        said = check_source("hasty")
    finally:
        PROBLEM_SOURCES.unregister("hasty")
    assert [one.partition(": ")[2] for one in said if one.startswith("draws_by_seed")] == [
        "the first problems depend on how many are drawn",
        "two seeds draw the same problem",
        "a problem is on both sides of the split",
        "a family that does not exist raises no NoSuchProblems",
    ]


def test_generated_problems_are_those_that_evaluations_ask() -> None:
    default = generate(77_000, 8 * len(TRAINED), split=Split.HELD_OUT)
    assert load_problems("generated") == default
    assert load_problems("generated", count=3) == default[:3]
    assert load_problems("generated:new,count=2") == generate(77_000, 2, families=HELD_OUT_WHOLE, split=Split.HELD_OUT)
    assert load_problems("generated:mux,seed=4,count=2,split=train") == generate(4, 2, families=["mux"])
    assert {problem.kind for problem in load_problems("generated-workspaces:mux")} == {Kind.AGENTIC}
    source, _ = find_source("generated")
    assert isinstance(source, ProblemGenerator)
    assert not isinstance(find_source("bundled")[0], ProblemGenerator)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("bundeld", "does not exist (did you mean bundled?)"),
        ("generated:conter", "there is no family 'conter' (did you mean counter or"),
        ("generated:seed=x", "seed=x should be a number"),
        ("generated:size=3", "size is not one of seed, count and split"),
        ("generated:split=test", "should be train or held-out"),
        ("bundled:alu", "takes no argument"),
    ],
)
def test_what_is_no_source_is_a_sentence(source: str, words: str) -> None:
    with pytest.raises(NoSuchProblems) as caught:
        load_problems(source)
    assert words in str(caught.value)


def test_a_folder_with_nothing_in_it_or_two_kinds_of_problems_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoSuchProblems, match=r"no \*\.jsonl files and no problem directories"):
        load_problems(str(tmp_path))
    (tmp_path / "set.jsonl").write_text(json.dumps(as_record(generate(1, 1)[0])))
    (tmp_path / "mine_fifo_0001").mkdir()
    (tmp_path / "mine_fifo_0001" / "prompt.md").write_text("Write a FIFO.")
    with pytest.raises(NoSuchProblems, match="has both"):
        load_problems(str(tmp_path))


def test_two_files_of_a_folder_do_not_share_an_id(tmp_path: Path) -> None:
    line = json.dumps(as_record(generate(1, 1)[0]))
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(line)
    with pytest.raises(BadRecord, match=r"b\.jsonl:1: id: .* was already defined at .*a\.jsonl:1"):
        load_problems(str(tmp_path))
    skipped: list[BadRecord] = []
    assert len(load_problems(str(tmp_path), skip_bad=True, on_bad=skipped.append)) == 1
    assert len(skipped) == 1


@pytest.fixture
def an_installed_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What `pip install` leaves of a package that brings a source."""
    (tmp_path / "elsewhere.py").write_text(
        "from rtl_agent.problems.generate import generate\n\n\n"
        "def problems(argument, options):\n    yield from generate(int(argument), 2)\n"
    )
    info = tmp_path / "elsewhere-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[rtl_agent.problem_sources]\nelsewhere = elsewhere:problems\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(PROBLEM_SOURCES, "_installed", None)
    monkeypatch.setattr(PROBLEM_SOURCES, "_known", dict(PROBLEM_SOURCES._known))
    yield "elsewhere:5"
    monkeypatch.setattr(PROBLEM_SOURCES, "_installed", None)


def test_an_installed_package_brings_a_source(an_installed_source: str) -> None:
    assert load_problems(an_installed_source) == generate(5, 2)
    assert check_source(an_installed_source) == []
