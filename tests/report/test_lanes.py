"""The picture of lanes: every bar at its time, hostile lines harmless."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rtl_agent.report.lanes import lanes_view
from rtl_agent.runs.timeline import read_timeline

BEGAN = 1_000_000.0


def line(step: int, began: float, seconds: float, **lanes: Any) -> str:
    return json.dumps({"step": step, "began": BEGAN + began, "seconds": seconds, "lanes": lanes})


def picture(path: Path, *lines: str) -> str:
    (path / "timeline.jsonl").write_text("".join(f"{one}\n" for one in lines))
    return str(lanes_view(read_timeline(path)) or "")


def bars(drawn: str) -> list[dict[str, str]]:
    svg = ElementTree.fromstring(re.findall("<svg.*?</svg>", drawn, re.DOTALL)[0])
    return [one.attrib for one in svg.iter("rect") if "span" in one.get("class", "")]


def test_work_is_drawn_in_proportion_and_idle_time_is_counted(tmp_path: Path) -> None:
    drawn = picture(
        tmp_path,
        line(0, 0, 10, sample=[[0, 0.0, 5.0], [1, 4.0, 10.0]], train=[[0, 5.0, 10.0]]),
        line(1, 10, 10, sample=[[1, 0.0, 10.0]], train=[[1, 0.0, 10.0]]),
    )
    widths = [float(one["width"]) for one in bars(drawn)]
    assert widths == pytest.approx([213, 255.6, 426, 213, 426], abs=0.2), "852 pixels are 20 seconds"
    assert "steps 1 to 2" in drawn
    rows = re.findall(r'data-head="(?:in progress|idle)">([\d.]+ %)', drawn)
    assert rows == ["100.0 %", "0.0 %", "75.0 %", "25.0 %"]


def test_batches_that_overlap_have_rows_of_their_own(tmp_path: Path) -> None:
    drawn = picture(tmp_path, line(0, 0, 10, sample=[[0, 0.0, 6.0], [1, 4.0, 8.0], [2, 7.0, 9.0]]))
    first, second, third = (one["y"] for one in bars(drawn))
    assert first != second
    assert third == first


@pytest.mark.parametrize(
    "hostile",
    [
        '{"step": 0, "began": 0, "seconds": 1, "lanes": {"<script>": [[0, 0, 1]], "sample": [[0, 0, 1]]}}',
        '{"step": NaN, "began": Infinity, "seconds": -1, "lanes": []}',
        '{"step": 0, "began": 0, "seconds": 1e300, "lanes": {"sample": [[0, 0, 1e300]]}}',
        '{"step": 0, "began": 0, "seconds": 1, "lanes": {"sample": [["<b>", 0, 1], [0], 7, null, [0, -1, 2]]}}',
        '{"step": "</svg><script>", "began": "x", "seconds": true, "lanes": {"sample": {"a": 1}}}',
        '{"step": 1, "began": 0, "seconds": 1, "lanes": {"sample": 5, "train": [[1e10, 0.0, 0.5]]}}',
        "[1, 2, 3]",
        "not JSON",
    ],
)
def test_lines_that_nobody_of_ours_wrote_do_no_harm(tmp_path: Path, hostile: str) -> None:
    drawn = picture(tmp_path, line(0, 0, 1, sample=[[0, 0.0, 0.5]]), hostile)
    assert "<script" not in drawn
    assert "nan" not in drawn.lower()
    for svg in re.findall("<svg.*?</svg>", drawn, re.DOTALL):
        ElementTree.fromstring(svg)


def test_a_night_between_two_steps_is_not_drawn(tmp_path: Path) -> None:
    drawn = picture(
        tmp_path,
        *(line(step, 10 * step, 10, train=[[step, 0.0, 9.0]]) for step in range(3)),
        *(line(step, 40_000 + 10 * step, 10, train=[[step, 0.0, 9.0]]) for step in range(3, 5)),
    )
    assert "steps 4 to 5" in drawn


def test_without_a_timeline_there_is_no_picture(tmp_path: Path) -> None:
    assert lanes_view(read_timeline(tmp_path)) is None
