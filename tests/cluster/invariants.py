"""What must hold when a simulated crawl is over. In: a run. Out: what was broken.

Most promises are kept or broken while it runs, and looked at there: by the servers (`servers`), and by who counts
batches and messages (`ledger`). Here is what shows in the end: what was stored, and what the logs say of every page.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.cluster.frontiers import standings
from tests.cluster.store import Line, lines_of

from weft.frontier.shared.contract import DONE
from weft.model import Kind, Reason

if TYPE_CHECKING:
    from tests.cluster.run import Run

_SHOWN = 5


def check_end(run: Run) -> None:
    """Look at what a crawl came to."""
    over = run.shared().state().over
    if over != DONE:
        run.broken(f"the crawl ends as {over!r}")
        return
    every = list(lines_of(run.out))
    lines = [line for line in every if line.kind != Kind.ROBOTS]
    must, may = run.web.closure()
    _check_stored(run, lines, must, may)
    _check_refused(run, lines, must)
    _check_named(run, every)
    if run.servers.open:
        run.broken(f"connections are open behind the end: {list(run.servers.open)}")
    waiting = run.shared().waiting()
    if waiting:
        run.broken(f"{waiting} pages wait at groups that nobody holds")


def _check_stored(run: Run, lines: list[Line], must: set[str], may: set[str]) -> None:
    """Every page is stored once, those that were wanted again once more, and no other."""
    stored = Counter(line.url for line in lines if line.stored)
    wanted = {url: 1 + run.again[url] for url in must}
    lost = [url for url in wanted if stored[url] < wanted[url]]
    if lost:
        where = standings(run.out, sorted(lost)[:_SHOWN], run.shared())
        run.broken(
            f"{len(lost)} pages are not stored: {[(url, stored[url], where.get(url)) for url in sorted(lost)[:_SHOWN]]}"
        )
    twice = [(url, count) for url, count in stored.items() if count > wanted.get(url, 1)]
    if twice:
        run.broken(f"{len(twice)} pages are stored more than once: {sorted(twice)[:_SHOWN]}")
    others = sorted(stored.keys() - must - may)
    if others:
        run.broken(f"{len(others)} pages are stored that must not be: {others[:_SHOWN]}")


def _check_refused(run: Run, lines: list[Line], must: set[str]) -> None:
    """Every other page that somebody led to has a reason: it failed for good, or a rule refused it."""
    led = {url for page in run.web.pages.values() if page.url in must for url in [*page.links, page.location] if url}
    rest = sorted(url for url in led - must if not run.web.site_of(url).nameless)
    ended = {line.url for line in lines if line.final}
    where = standings(run.out, [url for url in rest if url not in ended], run.shared())
    silent = [url for url in rest if url not in ended and not any(each[2] for each in where.get(url, []))]
    if silent:
        run.broken(
            f"{len(silent)} pages are neither stored nor refused: {[(u, where.get(u)) for u in silent[:_SHOWN]]}"
        )


def _check_named(run: Run, every: list[Line]) -> None:
    """Of a site whose name does not exist a row says so, and nothing is stored: its pages are forgotten, or they were
    tried until it was given up.
    """
    nameless = {site.name for site in run.web.sites.values() if site.nameless}
    said = {line.url.split("/")[2] for line in every if line.reason == Reason.DNS_NOT_FOUND.value}
    must, _ = run.web.closure()
    led = {link.split("/")[2] for url in must for link in run.web.pages[url].links}
    silent = sorted((nameless & led) - said)
    if silent:
        run.broken(f"nothing says that these names do not exist: {silent}")
    others = sorted(said - nameless)
    if others:
        run.broken(f"these names are denied, and exist: {others}")
