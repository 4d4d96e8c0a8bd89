"""Problems as directories: read as they stand, with a sentence for whatever is wrong with one."""

import shutil
from pathlib import Path

import pytest

from rtl_agent.problems import BadRecord, Kind, as_record, load_near_misses, load_problems, parse_record
from rtl_agent.problems.directories import read_directory, read_near_misses

BUNDLED = Path(__file__).parents[2] / "bundled"


def test_the_bundled_directories_are_the_bundled_problems() -> None:
    packed = {problem.id: problem for problem in load_problems("bundled")}
    assert {problem.id: problem for problem in load_problems(str(BUNDLED))} == packed
    misses = [miss for problem in load_problems(str(BUNDLED)) for miss in read_near_misses(problem)]
    assert misses == load_near_misses()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A problem with as little as a problem can have."""
    directory = tmp_path / "mine_counter_7"
    shutil.copytree(BUNDLED / "rtl_mod_counter_0001" / "harness", directory / "harness")
    shutil.copytree(BUNDLED / "rtl_mod_counter_0001" / "reference", directory / "reference")
    (directory / "prompt.md").write_text("Write `mod_counter`.")
    return directory


def test_everything_but_prompt_and_harness_has_a_default(own: Path) -> None:
    (problem,) = load_problems(str(own.parent))
    assert load_problems(str(own)) == [problem]
    assert (problem.id, problem.family) == ("mine_counter_7", "counter")
    assert (problem.kind, problem.category, problem.difficulty) == (Kind.SINGLE_SHOT, "cid003", "easy")
    assert problem.targets == ("rtl/mod_counter.sv",)
    assert read_near_misses(problem) == []
    shutil.rmtree(own / "reference")
    (own / "problem.yaml").write_text("targets: [rtl/mod_counter.sv]\n")
    assert read_directory(own).reference is None


def test_a_reference_without_a_last_newline_survives_an_agents_record(own: Path) -> None:
    (own / "problem.yaml").write_text("kind: agentic\n")
    (own / "context" / "rtl").mkdir(parents=True)
    (own / "context" / "rtl" / "mod_counter.sv").write_text("module mod_counter;\nendmodule")
    file = own / "reference" / "rtl" / "mod_counter.sv"
    file.write_text(file.read_text().rstrip())
    problem = read_directory(own)
    assert parse_record(as_record(problem)) == problem


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("prompt.md", None, "prompt.md: is missing"),
        ("prompt.md", " \n", "prompt.md: is empty"),
        ("harness/docker-compose.yml", None, "harness/docker-compose.yml: is missing"),
        ("harness/docker-compose.yml", "a: [b", "is not valid YAML"),
        ("problem.yaml", "- a", "should be a mapping"),
        ("problem.yaml", "target: [a.v]", "target is unknown (did you mean targets?)"),
        ("problem.yaml", "kind: agent", "'agent' should be one of single-shot, agentic"),
        ("problem.yaml", "difficulty: brutal", "should be one of easy, medium, hard"),
        ("problem.yaml", "targets: a.v", "should be a list of paths"),
        ("problem.yaml", "targets: [../a.v]", "climbs out"),
        ("problem.yaml", "targets: [rtl/other.sv]", "reference/rtl/other.sv: is missing"),
        ("reference/rtl/mod_counter.sv", None, "there is no reference to take it from"),
        ("prompt.md", b"\xff", "prompt.md: is not UTF-8"),
    ],
)
def test_what_is_wrong_is_named(own: Path, file: str, text: str | bytes | None, words: str) -> None:
    if text is None:
        (own / file).unlink()
        (own / "problem.yaml").touch()
    else:
        (own / file).write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(BadRecord) as caught:
        load_problems(str(own.parent))
    assert str(own) in str(caught.value)
    assert words in str(caught.value)


def test_a_directory_whose_name_is_no_id_says_what_an_id_is(own: Path) -> None:
    own.rename(own.parent / "counter")
    with pytest.raises(BadRecord, match=r"'counter' is not of the form <set>_<topic>_<number>"):
        load_problems(str(own.parent))


def test_a_near_miss_says_what_is_wrong_with_it(own: Path) -> None:
    (own / "near_misses").mkdir()
    (own / "near_misses" / "stuck.sv").write_text("module mod_counter; endmodule\n")
    with pytest.raises(BadRecord, match=r"near_misses/stuck\.sv: has no line that says what is wrong"):
        read_near_misses(read_directory(own))


@pytest.mark.parametrize("identifier", ["mine_fifo_1", "my-set_fifo_0001", "team_async_fifo_12345", "a_b_0"])
def test_any_set_topic_and_number_make_an_id(own: Path, identifier: str) -> None:
    renamed = own.rename(own.parent / identifier)
    assert read_directory(renamed).id == identifier
