"""The rule of trust, the interval, and tables that `train` and `eval` choose by."""

from dataclasses import replace
from pathlib import Path

import pytest

from rtl_agent.audit import (
    AUDIT_VERSION,
    BadTable,
    Fate,
    Findings,
    MutationScore,
    NotTrusted,
    Trust,
    TrustFilter,
    TrustGrade,
    TrustTable,
    read_audit,
    trust_of,
    wilson,
    write_audit,
)
from rtl_agent.audit.findings import MutantFate, RightDesign
from rtl_agent.audit.store import by_family
from rtl_agent.problems import Problem, load_problems, problem_digest
from rtl_agent.runs import RunRecord, RunWriter
from rtl_agent.training.config import Config, DataConfig
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.tasks import problem_sets


def findings(**others: object) -> Findings:
    score = MutationScore(killed=40, survived=0, undecided=0, equivalent=2, candidates=100, tried=42)
    mutants = (MutantFate("branch", "condition negated", "rtl/a.sv", 3, Fate.KILLED, ("test_a.one",)),)
    sound = Findings(
        problem_id="weak_a_0001",
        digest="0" * 16,
        right=(RightDesign("reference", "passed", score, mutants),),
        trivial={"a file with only a comment": "failed", "every output constant 0": "failed"},
        trivial_note="",
        interface="a right design",
        near_misses={},
        outputs={"a.q": {"0": "failed", "1": "failed", "x": "failed"}},
        seeds=20,
        failed_seeds=0,
        cpu_seconds=0.1,
        wall_seconds=0.3,
        hangs=0,
        names_inside="passed",
        names_inside_note="",
        renamed=3,
        unnamed=(),
        unmentioned=(),
        checks=4,
        tests=("test_a.one", "test_a.two"),
    )
    return replace(sound, **others)  # type: ignore[arg-type]


def score(killed: int, survived: int, undecided: int = 0) -> tuple[RightDesign, ...]:
    return (RightDesign("reference", "passed", MutationScore(killed, survived, undecided, 0, 1000, 100)),)


@pytest.mark.parametrize(
    ("change", "grade", "reason"),
    [
        ({}, "A", "no finding"),
        ({"trivial": {"every output constant 0": "passed"}}, "F", "every output constant 0"),
        ({"right": (RightDesign("reference", "failed"),)}, "F", "no design that should be right"),
        ({"right": (*score(94, 0), RightDesign("answer 1", "failed"))}, "D", "answer 1"),
        ({"right": (RightDesign("reference", "error"),), "errors": ("a box",)}, "C", "could not be graded"),
        ({"right": ()}, "C", "no right design is known"),
        ({"checks": 0}, "F", "no assert"),
        ({"right": score(94, 6)}, "B", "94 of 100"),
        ({"right": score(94, 0, 6)}, "B", "94 of 100"),
        ({"right": score(79, 21)}, "C", "79 of 100"),
        ({"right": score(59, 41)}, "E", "59 of 100"),
        ({"near_misses": {"late": "passed"}}, "D", "late"),
        ({"outputs": {"a.q": dict.fromkeys("01x", "passed")}}, "D", "a.q"),
        ({"outputs": {"a.q": dict.fromkeys("01x", "passed"), "a.r": {"0": "failed"}}}, "C", "a.q"),
        ({"outputs": {"a.q": {"0": "passed", "1": "failed", "x": "failed"}}}, "B", "a.q can be 0"),
        ({"failed_seeds": 1}, "C", "1 of 20 seeds"),
        ({"failed_seeds": 2}, "D", "2 of 20 seeds"),
        ({"names_inside": "failed"}, "D", "names inside"),
        ({"unnamed": ("state",)}, "D", "state"),
        ({"right": (), "outputs": {}, "unmentioned": ("a.q",)}, "C", "have no name for the outputs a.q"),
    ],
)
def test_a_finding_lowers_the_grade_and_says_why(change: dict[str, object], grade: str, reason: str) -> None:
    trust = trust_of(findings(**change))
    assert trust.grade == grade
    assert any(reason in said for said in trust.reasons)


def test_the_interval_takes_in_what_is_undecided_and_what_was_not_drawn() -> None:
    drawn = MutationScore(killed=36, survived=2, undecided=2, equivalent=5, candidates=300, tried=45)
    assert drawn.score == 0.9
    assert drawn.interval == (wilson(36, 40)[0], wilson(36, 38)[1])
    every = replace(drawn, candidates=45)
    assert every.interval == (36 / 40, 36 / 38)
    assert MutationScore(0, 0, 3, 0, 3, 3).interval == (0.0, 1.0)


def test_wilsons_interval_is_the_known_one() -> None:
    low, high = wilson(9, 10)
    assert (round(low, 4), round(high, 4)) == (0.5958, 0.9821)


def test_kills_tell_which_test_is_the_only_one() -> None:
    assert findings().kills == {"test_a.one": {"kills": 1, "alone": 1}, "test_a.two": {"kills": 0, "alone": 0}}


def test_an_audit_is_read_back_and_what_is_none_is_refused(tmp_path: Path) -> None:
    written = write_audit(tmp_path, findings())
    assert read_audit(tmp_path / "weak_a_0001.json") == written
    assert written["trust"] == "A"
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(BadTable, match="is not an audit"):
        read_audit(tmp_path / "other.json")


def graded(problem: Problem, grade: str) -> Trust:
    return Trust(problem.id, problem_digest(problem), TrustGrade(grade), ("because",), 0.9, 0.8, 0.95)


def test_a_problem_that_was_changed_is_not_trusted_by_its_old_audit() -> None:
    problem = load_problems("bundled")[0]
    table = TrustTable([graded(problem, "A")])
    assert table.find(problem) is not None
    assert table.find(replace(problem, prompt=f"{problem.prompt} Or not.")) is None


def test_families_of_generated_problems_have_a_line_each(tmp_path: Path) -> None:
    first, second = load_problems("generated:counter,count=2")
    lines = by_family(
        [graded(first, "A"), graded(second, "C")], dict.fromkeys((first.id, second.id), "generated_counter")
    )
    TrustTable(lines).write(tmp_path / "table.jsonl")
    table = TrustTable.read(tmp_path / "table.jsonl")
    (other,) = load_problems("generated:counter,count=1,seed=5")
    found = table.find(other)
    assert found is not None
    assert found.grade is TrustGrade.C
    assert table.find(load_problems("generated:mux,count=1")[0]) is None


def own_table(folder: Path, *grades: str) -> Path:
    path = folder / "table.jsonl"
    TrustTable(graded(problem, grade) for problem, grade in zip(load_problems("bundled"), grades, strict=False)).write(
        path
    )
    return path


def test_a_filter_keeps_what_is_good_enough_and_says_why_it_leaves_out(tmp_path: Path) -> None:
    problems = load_problems("bundled")[:3]
    chosen = TrustFilter("B", str(own_table(tmp_path, "A", "B", "C")))
    kept, left_out = chosen.apply(problems)
    assert kept == problems[:2]
    assert len(left_out) == 1
    assert "has trust C" in left_out[0] or "trust C, B is wanted: because" in left_out[0]
    assert chosen.record(problems) == {
        "audit": AUDIT_VERSION,
        "wanted": "B",
        "grades": dict(zip([problem.id for problem in problems], "ABC", strict=True)),
    }
    unaudited = replace(problems[0], id="weak_unknown_0001")
    assert "was not audited" in chosen.apply([unaudited])[1][0]


def test_a_filter_that_is_none_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(NotTrusted, match="A, B, C, D, E, F"):
        TrustFilter("G").apply([])
    with pytest.raises(NotTrusted, match="cannot be read"):
        TrustFilter("A", str(tmp_path / "nowhere")).apply([])


def test_training_takes_only_what_is_trusted(tmp_path: Path) -> None:
    table = str(own_table(tmp_path, *["A"] * 6, *["F"] * 12))
    sets = problem_sets(Config(data=DataConfig(source="bundled", heldout=False, trust="B", trust_table=table)))
    assert {problem.id for problem in sets.train} <= {problem.id for problem in load_problems("bundled")[:6]}
    assert any("trust F" in text for text in sets.left_out)
    with pytest.raises(BadConfig, match="should be one of A"):
        problem_sets(Config(data=DataConfig(source="bundled", trust="best")))


def test_a_run_keeps_the_grades_of_its_problems(tmp_path: Path) -> None:
    problems = load_problems("bundled")[:2]
    found = TrustFilter("B", str(own_table(tmp_path, "A", "B"))).record(problems)
    record = RunRecord(tmp_path / "run", {}, (), (), is_running=False)
    with RunWriter.create(record.path, {"mode": "rl"}, if_exists="raise") as run:
        assert record.trust()["grades"] == {}
        run.write_trust(found)
    assert record.trust() == found
