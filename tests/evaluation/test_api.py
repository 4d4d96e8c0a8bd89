"""`ra.evaluate`: the same numbers as `rtl-agent eval`, from a program or a notebook."""

from pathlib import Path

import rtl_agent as ra


def test_an_evaluation_is_one_call(tmp_path: Path) -> None:
    result = ra.evaluate("generated:parity", "rtl-agent/teacher", limit=2, max_tokens=256, out=tmp_path / "result.json")
    assert len(result.asked.samples) == 2
    assert result.settings.episode.max_tokens == 256
    assert (tmp_path / "result.json").is_file()


async def test_it_works_where_a_loop_is_running(tmp_path: Path) -> None:
    result = ra.evaluate("generated:parity", "rtl-agent/teacher", limit=1, max_tokens=256, out=tmp_path / "result.json")
    assert len(result.asked.samples) == 1
