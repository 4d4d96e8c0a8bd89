"""The page in the browser, by the browser's own clock: first paint, when the rows are there, frames while scrolling.

`measure_page` asks a server that is already there: `python -m rtl_agent.bench.page ADDRESS RUN`, with the address that
`rtl-agent view` printed.
"""

import sys
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from rtl_agent.bench.browser import NoBrowser, open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LOADS = 5  # each by a browser profile that knows nothing; the median counts
SCROLL_MS = 5000
MOST_PAINT_MS = 500
LEAST_FRAMES = 50

# Notes when the first row of the list is in the page, before it is asked for.
WATCH_ROWS = """
new MutationObserver((_, watch) => {
  if (!document.querySelector('.rollouts .cell.problem a')) return;
  watch.disconnect();
  requestAnimationFrame(() => { window.rowsAt = performance.now(); });
}).observe(document, {childList: true, subtree: true});
"""
# 25 rows a frame, which is faster than a hand; a frame without a row in the middle of the list is counted as blank.
SCROLL = """
async milliseconds => {
  const list = document.querySelector('.rollouts'), frames = [];
  list.scrollIntoView();
  const {left, top, width, height} = list.getBoundingClientRect();
  let blank = 0, way = 750, before = await new Promise(requestAnimationFrame);
  const end = before + milliseconds;
  while (before < end) {
    if (list.scrollTop + list.clientHeight + way > list.scrollHeight || list.scrollTop + way < 0) way = -way;
    list.scrollTop += way;
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - before);
    before = now;
    if (!document.elementFromPoint(left + width / 2, top + height / 2)?.closest('.list-row')) blank++;
  }
  return {frames, blank};
}
"""


@dataclass(frozen=True)
class PageTimes:
    """Milliseconds, but for the frames in a second."""

    rows: int
    first_paint: float
    rows_there: float
    frames_a_second: float
    slow_frame: float  # 99 of 100 frames took no longer
    blank_frames: int

    def words(self) -> tuple[str, ...]:
        def met(yes: bool) -> str:
            return "met" if yes else "not met"

        return (
            f"First paint under {MOST_PAINT_MS / 1000:g} s: {met(self.first_paint < MOST_PAINT_MS)}.",
            f"{LEAST_FRAMES} frames a second while scrolling: {met(self.frames_a_second >= LEAST_FRAMES)}.",
        )

    def lines(self) -> list[tuple[str, str]]:
        return [
            ("rows of the list in the browser", f"{self.rows:,}"),
            ("first paint, ms", f"{self.first_paint:.0f}"),
            ("the run's screen with its first rows, ms", f"{self.rows_there:.0f}"),
            ("frames a second while scrolling", f"{self.frames_a_second:.0f}"),
            ("99 of 100 frames took no longer than, ms", f"{self.slow_frame:.0f}"),
            ("frames without rows", f"{self.blank_frames}"),
        ]


def measure_page(url: str, run: str) -> PageTimes:
    """Of the screen of a run, 1280 x 720. Raises `NoBrowser` where there is none."""
    with open_browser() as browser:
        loads = [_load(browser, url, run) for _ in range(LOADS)]
        rows, scrolled = _scroll(browser, url, run)
    frames = sorted(scrolled["frames"])
    return PageTimes(
        rows=rows,
        first_paint=median(paint for paint, _ in loads),
        rows_there=median(there for _, there in loads),
        frames_a_second=1000 * len(frames) / sum(frames),
        slow_frame=frames[int(0.99 * (len(frames) - 1))],
        blank_frames=scrolled["blank"],
    )


def _load(browser: "Browser", url: str, run: str) -> tuple[float, float]:
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.add_init_script(WATCH_ROWS)
    page = context.new_page()
    page.goto(f"{url}#/run/{run}")
    page.locator(".rollouts .cell.problem a").first.wait_for(timeout=120_000)
    page.wait_for_timeout(100)
    paint, there = page.evaluate("[performance.getEntriesByName('first-contentful-paint')[0].startTime, window.rowsAt]")
    context.close()
    return paint, there


def _scroll(browser: "Browser", url: str, run: str) -> tuple[int, Any]:
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(f"{url}#/run/{run}")
    page.locator(".rollouts .cell.problem a").first.wait_for(timeout=120_000)
    page.wait_for_timeout(1000)
    rows = page.evaluate("Number(document.querySelector('.rollouts').getAttribute('aria-rowcount'))")
    return rows, page.evaluate(SCROLL, SCROLL_MS)


def main() -> None:
    try:
        url, run = sys.argv[1:]
    except ValueError:
        sys.exit(
            "python -m rtl_agent.bench.page ADDRESS RUN: the address that `rtl-agent view` printed, and a run's name"
        )
    try:
        times = measure_page(url, run)
    except NoBrowser as error:
        sys.exit(str(error))
    for name, value in times.lines():
        print(f"{name:45}{value:>10}")  # noqa: T201
    print("\n".join(times.words()))  # noqa: T201


if __name__ == "__main__":
    main()
