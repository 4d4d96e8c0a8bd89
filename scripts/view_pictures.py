"""Makes the pictures of docs/view.md and the README: the screens of `rtl-agent view` over a short run, in the browser.

    python scripts/view_pictures.py [RUN]

Without a run it trains one first: 24 steps of `preset=demo` on 24 problems, four answers to each. Waves are simulated
again, which needs the tools of a grade.
"""

import io
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Page, expect

from rtl_agent.bench.browser import open_browser
from rtl_agent.cli.view import decode
from rtl_agent.view import Library, Viewer

OUT = Path(__file__).parents[1] / "docs" / "view"
SIZE = {"width": 1280, "height": 800}
MOST_BYTES = 200_000
COLOURS = 128
TRAIN = (
    *("distill", "preset=demo", "seed=0", "max_steps=24", "generated_problems=24", "batch_size=12", "group_size=4"),
    *("reward_coef=1.0", "eval_every=6", "eval_problems=12", "exam_problems=24", "save_every=24"),
)


def main() -> None:
    if len(sys.argv) > 1:
        take(Path(sys.argv[1]).resolve())
        return
    with tempfile.TemporaryDirectory(prefix="rtl-agent-pictures-") as made:
        run = Path(made) / "runs" / "reader"
        subprocess.run([sys.executable, "-m", "rtl_agent.cli.main", "train", *TRAIN, f"log_path={run}"], check=True)
        take(run)


def take(run: Path) -> None:
    library = Library([run], decode)
    (name,) = (one["id"] for one in library.answer("runs", {})["runs"])
    rows = Rows(library.answer(f"runs/{name}/index", {}))
    group, failed = rows.mixed_group()
    simulated = rows.failing_in_simulation()
    server = Viewer(library)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open_browser() as browser:
        page = browser.new_page(viewport=SIZE, color_scheme="light")

        def show(state: str) -> Page:
            page.goto(f"{server.url}#/run/{quote(name)}{state}")
            expect(page.locator(".loading")).to_have_count(0, timeout=60_000)
            page.wait_for_timeout(500)
            return page

        show("?kind=step")
        keep(page, "run")
        show(f"/group/{group}")
        keep(page, "group")
        show(f"/rollout/{failed}?tab=tokens").locator(".largest button").first.click()
        page.mouse.move(0, 0)
        keep(page, "rollout")
        show(f"/rollout/{simulated}?tab=waves&show=1")
        drawn, refused = page.locator("svg.waves"), page.locator(".failure")
        drawn.or_(refused).first.wait_for(timeout=180_000)
        if refused.count():
            print(f"no picture of waves: {refused.first.inner_text()}")
        else:
            page.wait_for_timeout(1500)  # the reference's
            keep(page, "waves")
    server.shutdown()


class Rows:
    """The index of the run, to find what is worth a picture."""

    def __init__(self, index: Mapping[str, Any]) -> None:
        self.count, self.columns = index["count"], index["columns"]
        self.strings = index["strings"]

    def text(self, column: str, row: int) -> str:
        return str(self.strings[self.columns[column][row]])

    def mixed_group(self) -> tuple[int, int]:
        """The last group with a passing and a failing answer, and the failing one that the teacher likes least."""
        groups: dict[int, list[int]] = {}
        for row in range(self.count):
            if self.text("kind", row) == "step":
                groups.setdefault(self.columns["group"][row], []).append(row)
        for group, rows in reversed(groups.items()):
            failed = [row for row in rows if self.text("outcome", row) == "failed"]
            if 0 < len(failed) < len(rows):
                return group, max(failed, key=lambda row: self.columns["kl_mean"][row] or 0)
        raise SystemExit("this run has no group with a passing and a failing answer")

    def failing_in_simulation(self) -> int:
        """An answer that compiled, was simulated, and then failed: some of its tests passed."""
        found = [
            row
            for row in range(self.count)
            if self.text("outcome", row) == "failed" and self.columns["tests_passed"][row] > 0
        ]
        if not found:
            raise SystemExit("no answer of this run failed in simulation")
        return found[-1]


def keep(page: Page, name: str) -> None:
    """A palette is enough for a page, and a third of the size."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    path = OUT / f"{name}.png"
    path.parent.mkdir(exist_ok=True)
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{path} has {size} bytes, more than {MOST_BYTES}")
    print(f"{path} ({size // 1000} kB)")


if __name__ == "__main__":
    main()
