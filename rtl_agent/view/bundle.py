"""A static copy of runs: the page, and its data as scripts, since a page opened from disk may read nothing else.

    OUT/index.html app.js app.css
    OUT/data/runs.js                           the list
    OUT/data/runs/ID.js, ID/index.js           a run, and its table
    OUT/data/runs/ID/packs.js                  the first rollout and the first group of each pack
    OUT/data/runs/ID/pack-0.js                 rollouts with their waves, and groups, a megabyte or two of them
    OUT/data/runs/ID/waves/N-0-candidate.vcd   of each test whose waves were made before

Each script calls `rtlAgentData` with a path and a text of JSON, which the page parses when it is wanted.
"""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rtl_agent import __version__
from rtl_agent.runs import RunError
from rtl_agent.runs.episode import Episode
from rtl_agent.view.data import Library, as_json
from rtl_agent.view.rollout import Context, group
from rtl_agent.view.rows import NotThere
from rtl_agent.view.server import STATIC, static_file
from rtl_agent.view.waves import WaveService

MARKER = "rtl-agent-bundle.json"
PACK_BYTES = 2 << 20
SECONDS_FOR_A_PROBLEM = 600.0
# A page without a server has no headers; `file:` is what 'self' is where it was opened from disk.
BUNDLE_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'"
)
MODE = '<meta name="rtl-agent-mode" content="served">'


class BundleError(Exception):
    """The copy cannot be written; the message says why, and what to do."""


@dataclass
class Bundle:
    """What was written."""

    folder: Path
    files: int = 0
    size: int = 0
    rollouts: int = 0
    waves: int = 0  # tests that have them

    def script(self, path: str, *values: tuple[str, bytes]) -> int:
        """A script that hands over these values, by what the page calls them."""
        text = b"".join(b"rtlAgentData(%b,%b);\n" % (_quoted(name.encode()), _quoted(value)) for name, value in values)
        return self.file(f"data/{path}.js", text)

    def file(self, path: str, data: bytes) -> int:
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        self.files += 1
        self.size += len(data)
        return len(data)


def write_bundle(
    library: Library, out: Path, told: Callable[[], None] = lambda: None, waves: WaveService | None = None
) -> Bundle:
    """Written beside, and put in its place when it is whole; an older bundle there is replaced.

    Nothing is simulated for it: of waves it gets those that were looked at before.
    """
    out = Path(os.path.abspath(out))  # noqa: PTH100  a link is not followed: it would be replaced by a folder
    _check(out)
    beside = out.with_name(f".{out.name}.new")
    try:
        if beside.exists():
            if not (beside / MARKER).is_file():
                raise BundleError(f"{beside} is in the way and is not a bundle: remove it")
            shutil.rmtree(beside)  # of one that was interrupted
        beside.mkdir(parents=True)
        (beside / MARKER).write_text(json.dumps({"version": __version__}) + "\n")
        bundle = Bundle(beside)
        try:
            _fill(bundle, library, waves or WaveService(library.problem), told)
            _put(beside, out)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    except OSError as error:
        raise BundleError(f"cannot write {out}: {error.strerror or error}") from error
    return bundle


def _check(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise BundleError(f"{out} is there already and is not a folder: name a new one")
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise BundleError(f"{out} has files in it and is not a bundle of rtl-agent: name a new folder")


def _put(beside: Path, out: Path) -> None:
    old = out.with_name(f".{out.name}.old")
    if (old / MARKER).is_file():
        shutil.rmtree(old)
    if out.exists():
        out.rename(old)
    beside.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def _fill(bundle: Bundle, library: Library, waves: WaveService, told: Callable[[], None]) -> None:
    for name in STATIC:
        data = static_file(name)
        bundle.file(name, _as_bundle(data.decode()).encode() if name == "index.html" else data)
    for name in library.places():
        try:
            _run(bundle, library, name, waves, told)
        except (NotThere, RunError):  # removed meanwhile; the list does not name it then
            continue
    bundle.script("runs", ("runs", as_json(library.answer("runs", {}))))


def _as_bundle(page: str) -> str:
    policy = f'<meta http-equiv="Content-Security-Policy" content="{BUNDLE_POLICY}">'
    assert MODE in page, "the page says how it is served"
    return page.replace(MODE, f"{policy}\n{MODE.replace('served', 'bundle')}")


def _run(bundle: Bundle, library: Library, name: str, waves: WaveService, told: Callable[[], None]) -> None:
    """As the run is at this moment, if it is still being written."""
    run, of = f"runs/{name}", library.opened(name)
    about, index = library.answer(run, {}), of.table.columns()
    first_rows: list[int] = []
    first_groups: list[int] = []
    pack: list[tuple[str, bytes]] = []
    held = next_group = 0

    def write_pack() -> None:
        nonlocal held
        if pack:
            bundle.script(f"{run}/pack-{len(first_rows) - 1}", *pack)
        pack.clear()
        held = 0

    def add(path: str, show: Callable[[], Mapping[str, Any]]) -> None:
        nonlocal held
        try:
            value = show()
        except NotThere as error:
            value = {"error": f"There was no {error} (any more)."}
        pack.append((path, as_json(value)))
        held += len(pack[-1][1])

    for row in range(index["count"]):
        if not pack:
            first_rows.append(row)
            first_groups.append(next_group)
        kept = _waves(bundle, run, of, row, waves)
        add(f"{run}/rollouts/{row}", partial(_rollout, library, of, row, [one["test"] for one in kept]))
        if kept:
            add(f"{run}/rollouts/{row}/waves", partial(dict, tests=kept))
        if of.table.group_numbers[row] == next_group:  # the first of its group
            add(f"{run}/groups/{next_group}", partial(group, of, next_group))
            next_group += 1
        bundle.rollouts += 1
        told()
        if held > PACK_BYTES:
            write_pack()
    write_pack()
    bundle.script(f"{run}/packs", (f"{run}/packs", as_json({"rollouts": first_rows, "groups": first_groups})))
    bundle.script(f"{run}/index", (f"{run}/index", as_json(index)))
    bundle.script(run, (run, as_json({**about, "running": False, "generation": index["generation"]})))


def _rollout(library: Library, of: Context, row: int, waves: list[str]) -> Mapping[str, Any]:
    shown = library.rollout(of, row, SECONDS_FOR_A_PROBLEM)
    return {**shown, "waves": waves} if waves else shown


def _waves(bundle: Bundle, run: str, of: Context, row: int, waves: WaveService) -> list[dict[str, Any]]:
    """Those of a rollout that were made before, their files written; names of tests are no names of files."""
    kept: list[dict[str, Any]] = []
    try:
        episode = Episode.from_json(of.rows.record(of.table, row, numbers=False))
    except NotThere:
        return kept
    for test, shown, files in waves.kept(episode):
        for which, path in files.items():
            file = f"{run}/waves/{row}-{len(kept)}-{which}.vcd"
            bundle.file(f"data/{file}", path.read_bytes())
            shown[which]["file"] = file
        kept.append({"test": test, **shown})
        bundle.waves += 1
    return kept


def _quoted(text: bytes) -> bytes:
    """A string of JavaScript. What JSON has written is ASCII without control characters."""
    return b"'" + text.replace(b"\\", b"\\\\").replace(b"'", b"\\'") + b"'"
