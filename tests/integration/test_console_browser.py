"""The console in a real browser, while a crawl runs: every page in light, in dark and as wide as a phone, every click.

Screenshots are in `build/console`, to be looked at. Where there is no Chromium (Debian's package) or no Playwright, the
tests are skipped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browsing import console_of
from tests.commands import weft
from tests.crawling import make_web
from tests.integration.test_console_attacked import hostile_pages
from tests.patience import PATIENCE
from tests.siege import Siege, command_for, wait_until
from tests.small_site import small_site

from weft.console.serving import Server
from weft.manage import managing
from weft.reading import Crawl
from weft.testbed.bed import serving
from weft.testbed.options import PLAIN

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

pytestmark = pytest.mark.xdist_group("console-browser")
SHOTS = Path(__file__).resolve().parents[2] / "build" / "console"
LOOKS = {"light": ("light", 1280), "dark": ("dark", 1280), "phone": ("light", 390)}
_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium as Debian has it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = os.environ.get("WEFT_CHROMIUM") or shutil.which("chromium")
    if program is None:
        pytest.skip("there is no Chromium here: apt install chromium")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program)
        yield browser
        browser.close()


class Window:
    """A window of the browser in which somebody came in, and everything that is wrong with what it shows."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.server = server
        self.wrong: list[str] = []
        page.set_default_timeout(PATIENCE * 1000)
        page.add_init_script(_VIOLATIONS)
        page.on("console", lambda message: self.wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", self._request)

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if not request.url.startswith(f"{self.server.url}/"):
            self.wrong.append(f"it asks elsewhere: {request.url}")

    def enter(self) -> None:
        """Follow the link that was printed."""
        self.page.goto(self.server.link)
        self.page.wait_for_url(f"{self.server.url}{self.server.where.root}/")

    def show(self, path: str, **query: str) -> None:
        """Load a page; nothing of it is refused by the policy, and nothing is wrong."""
        from urllib.parse import urlencode

        asked = f"{self.server.url}{self.server.where.root}{path}" + (f"?{urlencode(query)}" if query else "")
        answer = self.page.goto(asked)
        assert answer is not None
        assert answer.status == 200, asked
        self.check()

    def check(self) -> None:
        """Nothing is wrong, and nothing stands out of the window."""
        assert self.page.evaluate("window.violations") == []
        assert self.wrong == []
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= self.page.viewport_size["width"], self.page.url  # type: ignore[index]


@contextmanager
def window(browser: Browser, server: Server, look: str = "light") -> Iterator[Window]:
    """A window that nobody used before."""
    scheme, width = LOOKS[look]
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 844})  # type: ignore[arg-type]
    try:
        found = Window(context.new_page(), server)
        found.enter()
        yield found
    finally:
        context.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A crawl that runs for as long as the tests do."""
    out = tmp_path_factory.mktemp("browser") / "crawl"
    with serving(make_web(PLAIN, sites=60, pages=9000, largest=400)) as bed:
        command = command_for(bed, out, "--wait", "0.2", "--per-visit", "3", "--speed", "40 pages/s", "--workers", "2")
        siege = Siege(command, out.with_suffix(".log"))
        try:
            wait_until(lambda: siege.over or _pages(out) > 60, "nothing is fetched")
            assert not siege.over
            yield out
        finally:
            siege.close()


def _pages(out: Path) -> int:
    if not (out / "frontier.db").exists():
        return 0
    with managing(out) as managed:
        return managed.status().pages


def test_pages__are_shown_in_every_look(browser: Browser, running: Path) -> None:
    """Each page, without a word from the browser; the screenshots are kept."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    wait_until(lambda: bool(_some(running)), "nothing is stored")
    row = _some(running)[0]
    pages: dict[str, tuple[str, dict[str, str]]] = {
        "overview": ("/", {}),
        "sites": ("/sites", {}),
        "site": ("/site", {"name": row["site"]}),
        "url": ("/url", {"url": row["url"], "version": "0"}),
        "plots": ("/plots", {}),
        "reports": ("/reports", {}),
        "manage": ("/manage", {}),
    }
    report = running.parent / "report.json"
    report.write_text(weft("report", running, "--json", "--no-graph"), encoding="utf-8")
    with console_of(running, report, report) as server:
        for look in LOOKS:
            with window(browser, server, look) as shown:
                for name, (path, query) in pages.items():
                    shown.show(path, **query)
                    if name == "overview":
                        shown.page.wait_for_function("() => document.querySelector('polyline').points.length > 1")
                    if name == "plots":
                        shown.page.wait_for_function(
                            "() => [...document.images].every((each) => each.naturalWidth > 0)"
                        )
                    shown.check()
                    shown.page.screenshot(path=SHOTS / f"{name}-{look}.png", full_page=True)


def _some(out: Path) -> list[dict[str, Any]]:
    """Pages that came at the first try."""
    where = "status = 200 and kind = 'a' and attempt = 1 and volume is not null and title is not null"
    return list(Crawl(out).pages("url", "site", where=where))


def test_overview__lives(browser: Browser, running: Path) -> None:
    """Figures change while nobody does anything."""
    with console_of(running) as server, window(browser, server) as shown:
        first = shown.page.inner_text("[data-live=pages]")
        changed = "(first) => document.querySelector('[data-live=pages]').textContent !== first"
        shown.page.wait_for_function(changed, arg=first)
        shown.check()
    assert first


def test_clicks__manage_the_crawl(browser: Browser, running: Path) -> None:
    """Paused, resumed and made slower by forms; a table sorted, a site found and a URL asked for by the keyboard."""
    with console_of(running) as server, window(browser, server) as shown:
        page = shown.page
        page.click("text=Pause")
        page.wait_for_selector(".said >> text=Paused.")
        page.wait_for_selector("[data-live=state] >> text=running, paused")
        page.click("text=Resume")
        page.wait_for_selector(".said >> text=Resumed.")
        page.click("text=Manage")
        page.fill("[name=speed]", "25 pages/s")
        page.press("[name=speed]", "Enter")
        page.wait_for_selector(".said >> text=25 pages/s")
        page.fill("[name=add]", "left-alone.test")
        page.click("section:has(h2:text-is('Blacklist')) button")
        page.click("li:has-text('left-alone.test') button")
        page.wait_for_selector(".said >> text=1 removed")
        page.fill("[name=seeds]", "http://another.test/")
        page.click("section:has(h2:text-is('Add seeds')) button")
        page.wait_for_selector(".said >> text=1 seed added.")
        page.click("text=Sites")
        page.click("th >> text=site")
        page.wait_for_selector("th[aria-sort=descending] >> text=site")
        name = page.inner_text("td.name a >> nth=0")
        page.fill("[name=text]", name)
        page.press("[name=text]", "Enter")
        page.click("td.name a")
        page.wait_for_selector(f"h1:text-is('{name}')")
        page.click("td.name a >> nth=0")
        page.wait_for_selector(".verdict")
        shown.check()
        page.click("text=Leave")
        page.wait_for_url("**/enter")
        shown.check()


def test_hostile_texts__do_nothing_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    """Titles, URLs and words that are meant to run are shown, and nothing happens: no dialog, no request elsewhere."""
    out = tmp_path / "crawl"
    with small_site(hostile_pages()) as site:
        weft("crawl", site.url(), "--out", out, "--wait", "0", "--per-visit", "100", "--json")
        rows = list(Crawl(out).pages("url", "site", where="final and status = 200 and kind = 'a'"))
    with console_of(out) as server, window(browser, server) as shown:
        shown.show("/site", name=rows[0]["site"])
        for row in (*rows[::3], rows[-1]):  # all of them are read without a browser (test_console_attacked.py)
            shown.show("/url", url=row["url"], version="0", **{"as": "source"})
        assert len(rows) >= 60
