"""The index of a rollout file: as the run writes it, as its lines say, and when it is not to be believed."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.runs import RunWriter
from rtl_agent.runs.directory import rollout_path
from rtl_agent.runs.index import FileIndex, encode, index_path, is_of, open_regular, read_index, read_rows
from rtl_agent.runs.rows import record_of
from tests.report.example_run import ATTACK, episode

ODD: list[dict[str, Any]] = [
    {"problem_id": ATTACK, "reward": float("nan"), "reverse_kl": [0.5, None, float("inf"), 1.5], "rollout": 3},
    {"problem_id": 7, "family": None, "grade": {"outcome": "passed", "tests": [{"passed": True}, 5, {}]}, "turns": 9},
    {"lost": "the server died", "reward": {"total": 10**400}, "sampled_tokens": "abc"},
    {"text": '"sampled_tokens": [1, 2]', "sampled_tokens": [], "grade": {"outcome": "no such", "reasons": ["r"]}},
    {"grade": {"outcome": "failed", "reasons": [5], "tests": 7, "reward": {"total": 0.4}}, "category": "cid003"},
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunWriter.create(tmp_path / "run", {}, if_exists="raise") as writer:
        writer.log_rollouts(3, [*(episode(3, number, 0.5, ATTACK) for number in range(6)), *ODD])
    return tmp_path / "run"


def from_lines(file: Path) -> FileIndex:
    with open_regular(file) as lines:
        return read_rows(lines, "step", 3)


def test_what_the_run_writes_is_what_its_lines_say(run: Path) -> None:
    file = rollout_path(run, "step", 3)
    index = read_index(index_path(file))
    assert index == from_lines(file)
    assert len(index.rows) == 6 + len(ODD)
    first, nan, passed, lost, *_ = index.rows[5:]
    assert (first.outcome, first.tests, first.tests_passed, first.tokens) == ("failed", 2, 1, 3)
    assert (nan.problem, nan.reward, nan.kl_mean, nan.kl_max, nan.sample) == (ATTACK, None, 1.0, 1.5, 3)
    assert (passed.outcome, passed.tests_passed) == ("passed", 1)
    assert (lost.outcome, lost.reason, lost.reward) == ("lost", "the server died", None)


def test_numbers_in_a_text_are_not_taken_for_a_list(run: Path) -> None:
    line = rollout_path(run, "step", 3).read_bytes().splitlines(keepends=True)[9]
    record = record_of(line, numbers=False)
    assert record is not None
    assert (record["text"], record["sampled_tokens"]) == ('"sampled_tokens": [1, 2]', 0)


def test_rewinding_takes_the_index_along(run: Path) -> None:
    with RunWriter.create(run, {}, if_exists="resume") as writer:
        writer.rewind(3)
    assert list((run / "rollouts").iterdir()) == []


def cut_short(data: bytes) -> bytes:
    return data[:-20]


def of_another_version(data: bytes) -> bytes:
    return data.replace(b'"version": 1', b'"version": 999')


def changed(name: str, value: Any) -> Callable[[bytes], bytes]:
    """A column's first value replaced, with a checksum that is right."""

    def change(data: bytes) -> bytes:
        first, body = data.split(b"\n")[:2]
        held = json.loads(body)
        held["columns"][name][0] = value
        whole = json.dumps(held).encode()
        return json.dumps({**json.loads(first), "crc": zlib.crc32(whole)}).encode() + b"\n" + whole + b"\n"

    return change


DAMAGES = {
    "torn": cut_short,
    "empty": lambda data: b"",
    "another version": of_another_version,
    "nested": lambda data: b"[" * 100_000 + b"\n",
    "no object": lambda data: b"5\n5\n",
    "offset beyond the end": changed("offset", 10**9),
    "length beyond the end": changed("length", 10**9),
    "negative": changed("line", -1),
    "text for a number": changed("step", "3"),
    "no such text": changed("problem", 10**6),
    "infinite": changed("reward", float("inf")),
    "huge": changed("tokens", 2**70),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_an_index_that_cannot_be_right_is_none(run: Path, damage: Callable[[bytes], bytes]) -> None:
    place = index_path(rollout_path(run, "step", 3))
    place.write_bytes(damage(place.read_bytes()))
    assert read_index(place) is None


def test_an_index_of_other_lines_is_noticed_and_one_of_the_first_lines_is_continued(run: Path) -> None:
    file = rollout_path(run, "step", 3)
    index = from_lines(file)
    with file.open("a") as lines:
        lines.write(json.dumps({"problem_id": "p"}) + "\n")
    with open_regular(file) as lines_:
        assert is_of(index, lines_)
        more = read_rows(lines_, "step", 3, index)
    assert more == from_lines(file)
    assert more.rows[:-1] == index.rows
    file.write_bytes(file.read_bytes().replace(b"Write a counter", b"Write a counted"))
    with open_regular(file) as lines_:
        assert not is_of(index, lines_)


def test_an_index_of_no_rollouts(tmp_path: Path) -> None:
    place = tmp_path / "x.index"
    place.write_bytes(encode(FileIndex()))
    assert read_index(place) == FileIndex()
