"""Benchmarks: one small run of each, the meter against work of known cost, the document that they write."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rtl_agent.bench import backend, grader, parts, real, sandboxes, soak, throughput, view
from rtl_agent.bench.cold import Cold
from rtl_agent.bench.document import SECTIONS, write_section
from rtl_agent.bench.meter import Meter, belongings
from rtl_agent.bench.report import (
    Table,
    backend_table,
    grader_tables,
    parts_table,
    real_table,
    sandboxes_table,
    soak_table,
    throughput_table,
)
from rtl_agent.bench.soak import mixture
from rtl_agent.bench.subjects import ARBITER, INVERTER, fresh, subjects
from rtl_agent.grading import Outcome
from rtl_agent.sandbox import BubblewrapSandbox
from rtl_agent.toolchain import find_toolchain

BURN = "import time\nwhile time.process_time() < {}: pass\n"


def burn(seconds: float) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", BURN.format(seconds)]


def test_the_meter_counts_children_that_ended() -> None:
    meter = Meter()
    subprocess.run(burn(0.2), check=True)
    assert 0.2 <= meter.stop().cpu < 0.4


def test_the_meter_counts_children_that_live_and_theirs() -> None:
    inner = f"import subprocess, sys\nsubprocess.run({burn(0.2)!r})\n{BURN.format(0.1)}print(1, flush=True)\ninput()\n"
    meter = Meter()
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", inner], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        used = meter.stop()
        child.communicate(b"\n")
    assert 0.28 <= used.cpu < 0.6


async def test_a_round_of_sandboxes() -> None:
    found = await sandboxes.measure(["bubblewrap"], subjects()[INVERTER], 2, find_toolchain())
    table = sandboxes_table(found)
    assert [row[0] for row in table.rows] == ["bubblewrap"]
    assert [cell for row in table.rows for cell in row].count("1.00") == len(sandboxes.PATHS)
    assert {len(times) for times in found[0].rounds.values()} == {2}


async def test_one_round_of_the_grader() -> None:
    variants = (grader.COLD, grader.FAST, grader.OWN)  # the exact path has tests enough
    (result,) = await grader.measure({INVERTER: subjects()[INVERTER]}, 1, find_toolchain(), variants=variants)
    data = json.loads(json.dumps(result.to_json()))
    assert set(data["cpu_ms"]) == {*variants, grader.COMPILE}
    assert all(value["median"] > 0 for value in data["cpu_ms"].values())
    assert set(data["ratios"]) == {"as CVDP runs it : fast", "fast : own"}
    assert all(value > 0 for value in data["ratios"].values())
    assert result.ratio(grader.COLD, grader.FAST) > 1
    assert result.median(grader.OWN) < result.median(grader.FAST)
    assert all(table.markdown() for table in grader_tables([result]))


async def test_each_part_of_a_fast_grade_is_counted() -> None:
    found = {part.name: part for part in await parts.parts(subjects()[INVERTER], find_toolchain(), grades=10)}
    assert len(found) == 9
    assert found["what it forks: the simulation with its tests"].user_ms > 0
    assert found["what it forks: the simulation with its tests"].faults > 500
    assert len(parts_table(list(found.values())).rows) == 10


async def test_the_floor_is_the_arbiter_without_python() -> None:
    arbiter = subjects()[ARBITER]
    assert 0 < await Cold(BubblewrapSandbox(1), find_toolchain()).floor(arbiter, fresh(arbiter)) < 1


async def test_throughput_counts_and_weighs() -> None:
    results = await throughput.measure(subjects()[INVERTER], 0.2, find_toolchain(), jobs=(1,))
    assert [one.path for one in results] == [throughput.COLD, throughput.FAST]
    assert all(one.grades > 0 and one.per_second > 0 and one.cpu_ms > 0 for one in results)
    # The test process counts too, with whatever earlier tests of it have imported: torch alone is 400 MB.
    assert 10 < results[1].private_mib <= results[1].idle_mib < 1_500
    assert len(throughput_table(results).rows) == 2


async def test_real_problems_are_measured_once_and_kept(tmp_path: Path) -> None:
    problem = subjects()[INVERTER]
    given = replace(problem, context=dict(problem.reference or {}))
    assert real.runnable([problem, given]) == [given]
    rows = tmp_path / "rows.jsonl"
    (row,) = await real.measure([given], find_toolchain(), rows)
    assert (row.simulations, row.ended, row.path) == (1, True, "fast")
    assert 0 < row.fast < row.cold
    assert await real.measure([given], find_toolchain(), rows) == [row] == real.read(rows)
    assert [cells[0] for cells in real_table([row]).rows] == ["1 simulation", "all"]


async def test_a_short_soak_leaves_nothing() -> None:
    result = await soak.run(10, find_toolchain(), jobs=1, sample_every=5)
    assert result.grades == 10
    assert not result.unexpected
    assert not result.outcomes[Outcome.ERROR]
    assert result.left == dict.fromkeys(result.left, 0)
    assert len(result.samples) == 2
    assert json.loads(json.dumps(result.to_json()))["outcomes"]["passed"] > 0
    assert soak_table(result).rows


def test_the_mixture_has_every_kind_and_no_submission_twice() -> None:
    sent = list(mixture(1000))
    assert {one.kind for one in sent} == {"right", "wrong", "does not compile", "does not end", "hostile"}
    assert len({tuple(one.submission.files.items()) for one in sent}) == 1000
    assert all((one.outcome is Outcome.PASSED) == (one.kind == "right") for one in sent)


@pytest.mark.parametrize(("growth", "expected"), [(0.0, 0.0), (0.01, 10.0)])
def test_slope(growth: float, expected: float) -> None:
    points = [(grades, 50 + growth * grades) for grades in range(100, 2100, 100)]
    assert soak.slope(points) == pytest.approx(expected, abs=1e-9)


def test_what_is_left_behind_is_seen(tmp_path: Path) -> None:
    before = belongings()
    with (tmp_path / "open").open("w"), subprocess.Popen(["sleep", "60"]) as child:
        left = belongings().more_than(before)
        child.kill()
    assert (left["processes"], left["open_files"]) == (1, 1)
    assert belongings().more_than(before)["processes"] == 0


def test_the_viewer_is_measured_over_runs_of_both_sizes(tmp_path: Path) -> None:
    results = view.measure(tmp_path, 40)
    assert [one.size for one in results] == list(view.SIZES)
    assert all(one.searched == 40 and one.memory_mib > 10 for one in results)
    assert results[0].bytes < results[1].bytes
    assert len(view.view_table(results).rows[0]) == 3
    assert not list(tmp_path.rglob("*.jsonl.new"))


def test_sections_are_replaced_one_by_one(tmp_path: Path) -> None:
    place = tmp_path / "benchmarks.md"
    for name, value in (("soak", "1"), ("grader", "2"), ("soak", "3")):
        write_section(name, f"rtl-agent bench {name}", "Here.", [Table(("a", "b"), [("x", value)])], place)
    text = place.read_text()
    place.write_text(f"{text}\nWhat the tables mean.\n")
    write_section("view", "rtl-agent bench view", "Here.", [Table(("a", "b"), [("x", "4")])], place)
    assert place.read_text().endswith("<!-- end of view -->\n\nWhat the tables mean.\n")
    assert "| x | 2 |" in text
    assert "| x | 3 |" in text
    assert "| x | 1 |" not in text
    assert text.index(f"<!-- {SECTIONS[0]} -->") < text.index("<!-- soak -->")
    assert os.linesep * 3 not in text


def test_what_is_written_below_the_sections_stays(tmp_path: Path) -> None:
    place = tmp_path / "benchmarks.md"
    for name in ("soak", "grader", "soak"):
        write_section(name, f"rtl-agent bench {name}", "Here.", [Table(("a", "b"), [("x", "1")])], place)
        if name == "soak":
            place.write_text(place.read_text() + "\n## By hand\n\nWords.\n")
    assert place.read_text().count("## By hand\n\nWords.\n") == 2
    assert place.read_text().endswith("<!-- end of soak -->\n\n## By hand\n\nWords.\n\n## By hand\n\nWords.\n")


def test_the_backend_is_measured_against_transformers_on_every_kind_of_work() -> None:
    load = backend.Load(sequences=4, group=2, prompt=6, answer=5)
    results = backend.measure(["rtl-agent/student"], 1, load)
    assert [one.what for one in results] == [backend.SAMPLE, backend.SCORE, backend.TRAIN, backend.TRAIN_LORA]
    assert all(one.server > 0 and one.transformers > 0 for one in results)
    table = backend_table(results)
    assert len(table.rows) == 4
    assert len(table.words) == len(backend.LEAST)
