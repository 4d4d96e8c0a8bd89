"""Rollouts as packed lines: the same to every reader, read one at a time, and bounded whatever a file claims to be."""

import gzip
import io
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rtl_agent.cli.main import app
from rtl_agent.runs import RolloutFiles, RunError, RunWriter, read_run
from rtl_agent.runs.directory import rollout_files, rollout_path
from rtl_agent.runs.files import read_lines
from rtl_agent.runs.index import index_path, open_regular, read_index, read_rows, stored_lines
from rtl_agent.runs.packing import members, pack, unpack
from rtl_agent.runs.rows import record_of
from rtl_agent.view.rows import Rows
from rtl_agent.view.search import search
from tests.report.example_run import ATTACK, episode

EPISODES = [episode(3, number, 0.5, ATTACK) for number in range(6)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run_with(path: Path, files: RolloutFiles) -> Path:
    with RunWriter.create(path, {"mode": "rl"}, if_exists="raise", rollouts=files) as run:
        run.log_metrics(3, {"env/all/reward/total": 0.5})
        run.log_rollouts(3, EPISODES)
        run.log_rollouts(4, EPISODES[:2], kind="eval")
    return path


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    return run_with(tmp_path / "packed", RolloutFiles(packed=True))


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return run_with(tmp_path / "plain", RolloutFiles())


def test_zcat_reads_what_a_plain_file_has(packed: Path, plain: Path) -> None:
    file = rollout_path(packed, "step", 3, packed=True)
    told = subprocess.run(["gzip", "-dc", file], capture_output=True, check=True).stdout
    assert told == rollout_path(plain, "step", 3).read_bytes()
    assert file.stat().st_size < len(told)


def test_every_reader_sees_the_same_run(packed: Path, plain: Path) -> None:
    for kind in ("step", "eval"):
        assert list(read_run(packed).episodes(kind)) == list(read_run(plain).episodes(kind))
    tables = {path: Rows(path).table() for path in (packed, plain)}
    for path, table in tables.items():
        assert [Rows(path).record(table, number) for number in range(len(table.rows))] == [
            Rows(plain).record(tables[plain], number) for number in range(len(table.rows))
        ]
    assert search(tables[packed], "module counter_3").rows == [3]
    assert search(tables[packed], "no such text").searched == len(tables[plain].rows)


def test_the_index_that_the_run_writes_is_what_its_members_say(packed: Path) -> None:
    for file in rollout_files(packed):
        with open_regular(file.path) as lines:
            assert read_index(index_path(file.path)) == read_rows(lines, file.kind, file.step)


def test_a_file_that_grows_is_read_from_where_it_ended(packed: Path) -> None:
    path = rollout_path(packed, "step", 3, packed=True)
    with open_regular(path) as lines:
        known = read_rows(lines, "step", 3)
    with path.open("ab") as file:
        file.write(pack(b'{"problem_id": "later"}\n') + pack(b'{"problem_id": "torn"}\n')[:-3])
    with open_regular(path) as lines:
        more = read_rows(lines, "step", 3, known)
        assert more == read_rows(lines, "step", 3)
    assert [row.problem for row in more.rows[len(known.rows) :]] == ["later"]


def test_rewinding_removes_packed_steps_and_their_indexes(packed: Path) -> None:
    with RunWriter.create(packed, {"mode": "rl"}, if_exists="resume", rollouts=RolloutFiles()) as run:
        run.rewind(3)
    assert list((packed / "rollouts").iterdir()) == []


def test_an_answer_is_printed_from_a_packed_file(packed: Path) -> None:
    file = rollout_path(packed, "step", 3, packed=True)
    found = CliRunner().invoke(app, ["runs", "answer", str(file), "2"])
    assert (found.exit_code, found.stdout_bytes) == (0, EPISODES[1]["text"].encode(errors="replace"))
    assert CliRunner().invoke(app, ["runs", "answer", str(file), "7"]).exit_code != 0


def test_a_step_that_is_not_kept_whole_has_texts_grades_and_numbers_of_tokens(tmp_path: Path, plain: Path) -> None:
    thin = run_with(tmp_path / "thin", RolloutFiles(packed=True, tokens_every=2))
    for mine, whole in zip(read_run(thin).episodes(), read_run(plain).episodes(), strict=True):
        assert {name: mine[name] for name in ("text", "grade", "reward", "messages")} == {
            name: whole[name] for name in ("text", "grade", "reward", "messages")
        }
        assert mine["sampled_tokens"] == len(whole["sampled_tokens"]) > 0
        assert "sampled_logprobs" not in mine
    assert list(read_run(thin).episodes("eval")) == list(read_run(plain).episodes("eval"))
    counted = [row.tokens for row in Rows(thin).table().rows]
    assert counted == [row.tokens for row in Rows(plain).table().rows]
    assert [record.episode.text for record in read_run(thin).rollouts()] == [one["text"] for one in EPISODES]


@pytest.mark.parametrize("length", [0, 1, 4095, 4096, 4097, 100_000])
def test_members_of_any_length_follow_each_other(length: int) -> None:
    lines = [bytes(range(256)) * (length // 256) + b"x" * (length % 256) + b"\n", b"{}\n"]
    stored = [pack(line) for line in lines] * 3
    assert list(members(io.BytesIO(b"".join(stored)))) == stored
    assert [unpack(one) for one in stored] == lines * 3


def test_what_claims_to_be_long_is_passed_over_and_what_follows_is_read() -> None:
    bomb, line = gzip.compress(bytes(8 << 20)), pack(b'{"problem_id": "p"}\n')
    assert unpack(bomb, most=1 << 20) is None
    found = list(members(io.BytesIO(bomb + line), most=1 << 20))
    assert found == [len(bomb), line]


def damaged(data: bytes) -> bytes:
    return data[:20] + bytes(byte ^ 0xFF for byte in data[20:40]) + data[40:]


def test_a_damaged_member_is_no_record_and_ends_the_file(packed: Path) -> None:
    path = rollout_path(packed, "step", 3, packed=True)
    with open_regular(path) as file:
        first, second, *_ = stored_lines(file)
    assert isinstance(first, bytes)
    assert isinstance(second, bytes)
    assert record_of(damaged(second)) is None
    path.write_bytes(first + damaged(second))
    with open_regular(path) as file:
        assert list(stored_lines(file)) == [first]
    path.write_bytes(first + pack(b"[") + second)
    with pytest.raises(RunError, match=r"step_000003\.jsonl\.gz:2 is not valid JSON"):
        list(read_lines(path))
