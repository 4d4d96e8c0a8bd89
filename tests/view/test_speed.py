"""The benchmark of the page gives numbers of the page; how large they are depends on the machine, and is not a test."""

from pathlib import Path

import pytest

from rtl_agent.bench import page
from rtl_agent.bench import view as bench_view
from rtl_agent.view import Library
from tests.report.example_run import write_run
from tests.view.shown import viewer


@pytest.mark.slow
def test_the_browser_tells_first_paint_rows_and_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "one", steps=30, attack="")
    monkeypatch.setattr(page, "LOADS", 1)
    monkeypatch.setattr(page, "SCROLL_MS", 500)
    with viewer(Library([tmp_path])) as url:
        times = page.measure_page(url, "one")
    assert times.rows > 200
    assert 0 < times.first_paint <= times.rows_there
    assert times.frames_a_second > 0
    assert times.slow_frame > 0
    assert len(times.words()) == 2


@pytest.mark.slow
def test_the_benchmark_of_the_viewer_has_its_page_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "LOADS", 1)
    monkeypatch.setattr(page, "SCROLL_MS", 500)
    monkeypatch.setattr(bench_view, "STARTS", 1)
    monkeypatch.setattr(bench_view, "SIZES", {"10 kB": bench_view.SIZES["10 kB"]})
    (opened,) = bench_view.measure(tmp_path, 200)
    table = bench_view.view_table([opened])
    names = [row[0] for row in table.rows]
    assert "opening from the index, s" in names
    assert "frames a second while scrolling" in names
    assert any("First paint under 0.5 s" in sentence for sentence in table.words)
    assert opened.to_json()["page"]["rows"] == 200
