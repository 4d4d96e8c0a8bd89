"""A tab of the real browser on a viewer; it remembers everything that a page must not do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Locator, Page, Request, expect

from rtl_agent.view import Library, Viewer
from tests.threads import serving_in_a_thread
from tests.view.filled import waves

Theme = Literal["light", "dark"]
WIDE, PHONE = (1280, 720), (390, 844)
PATIENCE = 20_000  # ms: the machine may be busy with other tests
expect.set_options(timeout=PATIENCE)

# Told by console as well, but with words that change between versions.
WATCH = "addEventListener('securitypolicyviolation', event => console.error(`policy: ${event.violatedDirective}`))"


@dataclass
class Shown:
    page: Page
    url: str
    faults: list[str] = field(default_factory=list)

    def open(self, state: str) -> Page:
        """What the address after `#/` names, once it is all there."""
        self.page.goto(f"{self.url}#/{state}")
        return self.ready()

    def ready(self) -> Page:
        expect(self.page.locator(".loading")).to_have_count(0)
        expect(self.page.locator("main h1").first).to_be_visible()
        return self.page

    def tab(self, name: str) -> Locator:
        """A part of a rollout, chosen by its name."""
        self.page.get_by_role("tab", name=name).click()
        expect(self.page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        return self.page.get_by_role("tabpanel")

    def state(self) -> str:
        return self.page.url.partition("#/")[2]

    def no_wider_than_the_screen(self) -> None:
        wide, room = self.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide <= room, f"{self.state()} is {wide - room} pixels wider than the screen"


@contextmanager
def viewer(library: Library) -> Iterator[str]:
    """The address of a server for these runs."""
    server = Viewer(library)
    with serving_in_a_thread(server):
        yield server.url


@contextmanager
def shown(
    browser: Browser,
    url: str,
    theme: Theme = "light",
    size: tuple[int, int] = WIDE,
    *,
    simulated: bool = False,
    beside: str = "",
) -> Iterator[Shown]:
    """A tab with a profile of its own. At the end nothing may have gone wrong in it.

    `beside` is where it may ask for files, if that is not below `url`.
    """
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=theme, has_touch=size == PHONE
    )
    context.set_default_timeout(PATIENCE)
    context.add_init_script(WATCH)
    if not simulated:  # which takes seconds and needs the tools
        context.route("**/waves?*", lambda route: route.fulfill(json=_waves(route.request.url)))
    tab = Shown(context.new_page(), url)

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            tab.faults.append(f"console: {message.text}")

    tab.page.on("console", said)

    def asked(dialog: Dialog) -> None:
        tab.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def fetched(request: Request) -> None:
        if not request.url.startswith((url, beside or url, "data:")):
            tab.faults.append(f"request: {request.url}")

    def failed(error: Error) -> None:
        tab.faults.append(f"error: {error}")

    tab.page.on("pageerror", failed)
    tab.page.on("dialog", asked)
    tab.page.on("request", fetched)
    try:
        yield tab
        assert tab.faults == []
    finally:
        context.close()


def _waves(url: str) -> dict[str, Any]:
    if "kept=" in url:
        return {"status": "error", "message": "not made yet"}
    return waves(reference="of=reference" in url)


def evaluation(path: Path, lines: str) -> Path:
    path.write_text('{"settings": {"model": "some/model"}}\n' + lines)
    return path
