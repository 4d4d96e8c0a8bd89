"""The benchmark of the page gives numbers of the page; how large they are depends on the machine, and is not a test."""

from pathlib import Path

import pytest

from rtl_agent.bench import page
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
