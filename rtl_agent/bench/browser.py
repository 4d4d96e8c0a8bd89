"""The browser in which the page is tested, measured and photographed: the system's own, headless, by Playwright."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHOICE = "RTL_AGENT_BROWSER"
# Nothing is asked of the network: no updates, no lists, no first-run page.
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


class NoBrowser(RuntimeError):
    """A sentence that says what to install."""


def find_browser() -> str:
    for name in filter(None, (os.environ.get(CHOICE), *NAMES)):
        if path := shutil.which(name):
            return path
    raise NoBrowser(
        f"there is no Chromium here ({', '.join(NAMES)}): `sh scripts/setup.sh --browser` installs Debian's; "
        f"{CHOICE} names another one"
    )


@contextmanager
def open_browser() -> Iterator["Browser"]:
    """One Chromium with a new, empty profile."""
    program = find_browser()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise NoBrowser("the Python package playwright is missing: pip install 'rtl-agent[dev]'") from None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()
