"""A static copy of runs: all that the server says, as scripts that a strict policy lets run, whole or not at all."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from typer.testing import CliRunner

from rtl_agent.cli.main import app
from rtl_agent.view import BundleError, Library, write_bundle
from rtl_agent.view import bundle as bundling
from rtl_agent.view.data import as_json
from rtl_agent.view.waves import WaveService, _keys
from rtl_agent.waves.job import WAVES
from rtl_agent.waves.store import WaveStore
from tests.report.example_run import write_run
from tests.view.filled import waves
from tests.view.shown import shown

CALL = re.compile(rb"rtlAgentData\('((?:[^'\\]|\\.)*)','((?:[^'\\]|\\.)*)'\);\n")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_run(tmp_path / "runs" / "one", steps=2)
    sample = {"index": 0, "episode": {"problem_id": "p", "text": "module p;"}}
    (tmp_path / "runs" / "mine.jsonl").write_text(
        json.dumps({"settings": {"model": "m"}}) + f"\n{json.dumps(sample)}\n"
    )
    return tmp_path / "runs"


def held(script: Path) -> dict[str, Any]:
    """What a script hands over: it is nothing but calls with two texts."""
    text = script.read_bytes()
    assert CALL.sub(b"", text) == b""
    assert text.isascii()
    assert b"<" not in text
    return {
        path.decode(): json.loads(re.sub(rb"\\(['\\])", rb"\1", value).decode()) for path, value in CALL.findall(text)
    }


def everything(folder: Path) -> dict[str, Any]:
    return {path: value for script in folder.rglob("data/**/*.js") for path, value in held(script).items()}


def test_it_holds_what_the_server_says(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundling, "PACK_BYTES", 20_000)  # so that there are several packs
    library = Library([runs])
    written = write_bundle(library, tmp_path / "out")
    found = everything(tmp_path / "out")
    for run in ("one", "mine.jsonl"):
        packs = found.pop(f"runs/{run}/packs")
        for kind in ("rollouts", "groups"):
            assert packs[kind] == sorted(packs[kind])
            for number in (int(path.split("/")[3]) for path in found if path.startswith(f"runs/{run}/{kind}/")):
                pack = sum(first <= number for first in packs[kind]) - 1  # as viewer/src/data.ts finds it
                assert f"runs/{run}/{kind}/{number}" in held(tmp_path / "out" / "data" / f"runs/{run}/pack-{pack}.js")
    assert len(list((tmp_path / "out" / "data" / "runs" / "one").glob("pack-*.js"))) > 2
    assert set(found) >= {"runs", "runs/one", "runs/one/index", "runs/one/rollouts/0", "runs/mine.jsonl/groups/0"}
    for path, value in found.items():
        assert value == json.loads(as_json(library.answer(path, {}))), path
    assert (written.rollouts, written.files) == (20, sum(path.is_file() for path in (tmp_path / "out").rglob("*")) - 1)


def test_its_page_forbids_what_is_not_its_own_script(runs: Path, tmp_path: Path) -> None:
    write_bundle(Library([runs]), tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.index("Content-Security-Policy") < page.index("<script")
    assert not re.search(r"<script(?![^>]* src=)", page)
    assert 'name="rtl-agent-mode" content="bundle"' in page


def looked_at(runs: Path, store: WaveStore) -> str:
    """Keeps waves as if somebody had looked at those of a test: its name."""
    library = Library([runs])
    index = library.answer("runs/one/index", {})
    row = next(row for row, tests in enumerate(index["columns"]["tests"]) if tests)
    episode = library.asked("one", row).episode
    assert episode.grade is not None
    name = episode.grade.tests[-1].name
    with store.making(_keys(episode, episode.grade)(name)) as folder:
        found = {which: waves(reference=which == "reference") for which in ("candidate", "reference")}
        (folder / WAVES).write_text(json.dumps(found))
        for which in found:
            (folder / f"{which}.vcd").write_text(f"$comment {which} $end\n")
    return name


def test_waves_that_were_looked_at_come_along(runs: Path, tmp_path: Path) -> None:
    store = WaveStore(tmp_path / "cache")
    name, library = looked_at(runs, store), Library([runs])
    written = write_bundle(library, tmp_path / "out", waves=WaveService(library.problem, store))
    assert written.waves > 0
    found = everything(tmp_path / "out")
    (path, kept) = next((path, kept) for path, kept in found.items() if path.endswith("/waves"))
    assert found[path.removesuffix("/waves")]["waves"] == [name]
    (one,) = kept["tests"]
    assert (one["test"], one["candidate"]["status"], one["candidate"]["reference"]) == (name, "ok", True)
    for which in ("candidate", "reference"):
        assert (tmp_path / "out" / "data" / one[which]["file"]).read_text() == f"$comment {which} $end\n"


def test_it_works_from_disk(runs: Path, tmp_path: Path, browser: Browser) -> None:
    """A page that was opened from disk may fetch nothing, and runs only the scripts beside it."""
    store, library = WaveStore(tmp_path / "cache"), Library([runs])
    name = looked_at(runs, store)
    write_bundle(library, tmp_path / "out", waves=WaveService(library.problem, store))
    row = next(row for row in range(99) if "waves" in everything(tmp_path / "out")[f"runs/one/rollouts/{row}"])
    with shown(browser, (tmp_path / "out" / "index.html").as_uri(), beside=(tmp_path / "out").as_uri()) as tab:
        page = tab.open("runs")
        page.get_by_role("link", name="one", exact=True).click()
        expect(page.get_by_role("table", name="Rollouts")).to_be_visible()
        page = tab.open(f"run/one/rollout/{row}?tab=waves")
        expect(page.get_by_label("Test", exact=True)).to_have_value(name)
        expect(page.locator("svg.waves")).to_be_visible()
        expect(page.get_by_role("list", name="Signals").get_by_text("reference")).to_be_visible()
        link = page.get_by_role("link", name="Download")
        assert page.evaluate("link => link.href", link.element_handle()).endswith("-candidate.vcd")
        other = next(one for one in range(99) if one != row)
        tab.open(f"run/one/rollout/{other}")
        expect(page.get_by_role("tab", name="Reproduce")).to_be_visible()
        expect(page.get_by_role("tab", name="Waves")).to_have_count(0)


def make_file(out: Path) -> None:
    out.write_text("mine")


def make_folder(out: Path) -> None:
    out.mkdir()
    (out / "thesis.tex").write_text("mine")


def make_link(out: Path) -> None:
    out.with_name("elsewhere").mkdir()
    out.symlink_to(out.with_name("elsewhere"))


@pytest.mark.parametrize("make", [make_file, make_folder, make_link])
def test_what_is_not_a_bundle_is_left_alone(runs: Path, tmp_path: Path, make: Callable[[Path], None]) -> None:
    out = tmp_path / "out"
    make(out)
    before = sorted(tmp_path.rglob("*"))
    done = CliRunner().invoke(app, ["view", str(runs), "--bundle", str(out)])
    assert done.exit_code == 2
    assert "new" in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_an_older_bundle_is_replaced_and_the_size_is_said(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in range(2):
        done = CliRunner().invoke(app, ["view", str(runs), "--bundle", str(out)])
        assert done.exit_code == 0, done.output
    assert "20 rollouts" in done.stdout
    assert "MB in" in done.stdout
    (out / "data" / "old.js").write_text("")
    write_bundle(Library([runs]), out)
    assert not (out / "data" / "old.js").exists()
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out"]


def test_one_that_fails_leaves_nothing_and_the_older_one_as_it_was(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write_bundle(Library([runs]), out)
    before = everything(out)

    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundling, "as_json", full)
    with pytest.raises(BundleError, match="No space left"):
        write_bundle(Library([runs]), out)
    assert everything(out) == before
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out"]


KILLED = """
import os, signal, sys
from pathlib import Path
from rtl_agent.view import Library, write_bundle

write_bundle(Library([Path(sys.argv[1])]), Path(sys.argv[2]), lambda: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_one_that_is_killed_leaves_no_half_of_it_in_its_place(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = subprocess.run([sys.executable, "-c", KILLED, str(runs), str(out)], env={**os.environ})
    assert done.returncode == -signal.SIGKILL
    assert not out.exists()
    write_bundle(Library([runs]), out)
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == ["out"]
