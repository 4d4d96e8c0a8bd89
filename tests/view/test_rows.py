"""The table of a run: from indexes where they are good, from the lines where they are not, and never from elsewhere."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rtl_agent.runs.directory import rollout_path
from rtl_agent.runs.index import encode, index_path, open_regular, read_rows
from rtl_agent.view.rows import WORTH_KEEPING, NotThere, Rows, Table, kept_index
from rtl_agent.view.search import search
from tests.report.example_run import write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", steps=3)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def opened(run: Path) -> tuple[Table, int]:
    """The table as somebody sees it who opens the run now, and how many bytes of lines were read for it."""
    read: list[int] = []
    table = Rows(run).table(read.append)
    return table, sum(read)


def size(run: Path) -> int:
    return sum(path.stat().st_size for path in (run / "rollouts").glob("*.jsonl"))


def drop_indexes(run: Path) -> None:
    for path in (run / "rollouts").glob("*.index"):
        path.unlink()


def test_a_run_with_its_indexes_opens_without_reading_a_line(run: Path) -> None:
    table, read = opened(run)
    assert read == 0
    drop_indexes(run)
    again, read = opened(run)
    assert read == size(run)
    assert again.columns() == table.columns()


def test_a_run_without_them_is_read_once_and_nothing_is_written_into_it(run: Path, cache: Path) -> None:
    drop_indexes(run)
    file = rollout_path(run, "step", 9)
    file.write_text((json.dumps({"problem_id": "p", "text": "x" * 1000}) + "\n") * (WORTH_KEEPING // 1000 + 1))
    before = sorted(run.rglob("*"))
    table, _ = opened(run)
    again, read = opened(run)
    assert again.columns() == table.columns()
    assert read == size(run) - file.stat().st_size, "of small files no index is kept"
    assert sorted(run.rglob("*")) == before
    assert list(cache.rglob("*.index")) == [kept_index(file)]


def test_a_file_that_grows_is_read_from_where_it_ended(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    sample = json.dumps({"index": 1, "episode": {"problem_id": "p", "text": "x" * 1000}}) + "\n"
    file.write_text(json.dumps({"settings": {"model": "m"}}) + "\n" + sample * (WORTH_KEEPING // 1000 + 1))
    opened(file)
    with file.open("a") as lines:
        lines.write(sample + sample[:50])
    table, read = opened(file)
    assert read == len(sample)
    assert len(table.rows) == WORTH_KEEPING // 1000 + 2
    file.write_text(json.dumps({"settings": {"model": "other"}}) + "\n" + sample)  # begun anew
    assert len(opened(file)[0].rows) == 1


def test_an_index_that_is_older_than_its_file_is_not_believed(run: Path) -> None:
    file = rollout_path(run, "step", 1)
    file.write_bytes(rollout_path(run, "step", 2).read_bytes()[:-1] + b" \n")
    table, read = opened(run)
    assert read == file.stat().st_size
    assert [row.line for row in table.rows if (row.kind, row.step) == ("step", 1)] == list(range(8))


def test_an_index_that_lies_about_a_rollout_is_noticed_when_it_is_looked_at(run: Path) -> None:
    file = rollout_path(run, "step", 1)
    place = index_path(file)
    with open_regular(file) as lines:
        honest = read_rows(lines, "step", 1)
    lie = replace(honest, rows=tuple(replace(row, outcome="passed", reward=99.0) for row in honest.rows))
    place.write_bytes(encode(lie))
    rows = Rows(run)
    table = rows.table()
    (number,) = [n for n, row in enumerate(table.rows) if (row.kind, row.step, row.line) == ("step", 1, 0)]
    assert table.rows[number].reward == 99.0
    assert rows.record(table, number)["reward"] != 99.0
    assert rows.table().rows[number] == honest.rows[0]


def test_a_line_that_was_changed_under_the_table_is_not_shown_as_another(run: Path) -> None:
    rows = Rows(run)
    table = rows.table()
    (number, *_) = [n for n, row in enumerate(table.rows) if (row.kind, row.step) == ("step", 1)]
    file = rollout_path(run, "step", 1)
    file.write_bytes(file.read_bytes().replace(b'"reward": ', b'"reward":  '))
    with pytest.raises(NotThere, match="has changed"):
        rows.record(table, number)
    assert rows.record(rows.table(), number)["reward"] is not None


def test_neither_pipes_nor_links_are_read(run: Path, tmp_path: Path) -> None:
    count = len(opened(run)[0].rows)
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"problem_id": "secret"}\n')
    os.mkfifo(rollout_path(run, "step", 7))
    rollout_path(run, "step", 8).symlink_to(secret)
    index_path(rollout_path(run, "step", 1)).unlink()
    os.mkfifo(index_path(rollout_path(run, "step", 1)))
    assert len(opened(run)[0].rows) == count


def test_a_folder_of_rollouts_that_leads_elsewhere_is_not_read(run: Path, tmp_path: Path) -> None:
    (run / "rollouts").rename(tmp_path / "elsewhere")
    (run / "rollouts").symlink_to(tmp_path / "elsewhere")
    assert opened(run)[0].rows == ()


def texts(tmp_path: Path, *records: Mapping[str, object]) -> Table:
    rollout_path(tmp_path, "step", 0).parent.mkdir()
    rollout_path(tmp_path, "step", 0).write_text("".join(json.dumps(one) + "\n" for one in records))
    return Rows(tmp_path).table()


@pytest.mark.parametrize(
    ("words", "rows"),
    [("NEEDLE", [0, 3]), ('say "Needle"', [0]), ("Grün", [1]), ("GRÜN", [1]), ("line\nbreak", [1]), ("<b>\\", [2]),
     ("sampled_tokens", []), ("problem_id", []), ("1234", []), ("needle.sv", [3]), ("", []), ("\ud800", [2])],
)  # fmt: skip
def test_texts_are_searched_and_neither_names_of_fields_nor_tokens(tmp_path: Path, words: str, rows: list[int]) -> None:
    table = texts(
        tmp_path,
        {"problem_id": "p", "text": 'say "Needle"', "sampled_tokens": [1234]},
        {"problem_id": "p", "grade": {"outcome": "failed", "reasons": ["grün\nline\nbreak"]}},
        {"problem_id": "p", "messages": [{"content": "<b>\\ \ud800"}]},
        {"problem_id": "p", "files": {"rtl/Needle.sv": "module"}},
    )
    found = search(table, words)
    assert (found.rows, found.truncated) == (rows, False)


def test_a_search_says_when_it_was_cut_short(tmp_path: Path) -> None:
    table = texts(tmp_path, *({"text": "needle"} for _ in range(200)))
    assert search(table, "needle", wanted=lambda: False).truncated
    late = search(table, "needle", seconds=-1)
    assert (late.rows, late.truncated, late.searched) == ([], True, 0)


def test_a_search_finds_a_bounded_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtl_agent.view.search.MOST_FOUND", 100)
    found = search(texts(tmp_path, *({"text": "needle"} for _ in range(200))), "needle")
    assert (len(found.rows), found.truncated) == (100, True)
