"""What the pages of a console show, found out. In: a crawl. Out: values, by the same functions as the commands.

What is expensive is kept for a while. Where a crawl is given by the address of its database there are no files here,
and what needs them is refused with a message that says where they are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.clock import Clock
from weft.console.kept import Kept
from weft.console.reports import Report, read_report
from weft.console.watching import Watching
from weft.errors import UsageError, WeftError, no_crawl
from weft.explain import Explanation, explain_url
from weft.frontier.shared.address import is_address, without_password
from weft.manage import managing
from weft.operations.status import Status
from weft.reading import Content, Crawl
from weft.report.numbers import over_time
from weft.sites.one import Site, look_at_site
from weft.sites.survey import Survey, survey
from weft.text.html import whole_text

_PATIENCE = 10.0  # seconds that a question waits for others
_LONGEST = 200_000  # characters of a text that are shown
_SURVEYED, _MEASURED = 10.0, 30.0  # seconds that the sites, and the plots, are kept at least
_TEXTS = ("xml", "json", "javascript")  # how media types end that are text, besides text/…
_HTML = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True)
class Version:
    """One fetch of a page, and its content as text where it was stored."""

    row: dict[str, Any]
    text: str
    cut: bool  # there is more of it
    head: str  # the HTTP header


class Facts:
    """Those of one crawl. Any thread may ask."""

    def __init__(self, crawl: str, clock: Clock, reports: Sequence[Path] = ()) -> None:
        self._crawl = crawl
        self._reports = reports
        self._clock = clock
        self.out = None if is_address(crawl) else Path(crawl)
        self.name = without_password(crawl, where="the command line") if self.out is None else str(self.out)
        self.watching = Watching(self.status, clock)
        self._survey = Kept(lambda: survey(self._files(), clock.wall()), clock, least=_SURVEYED)
        self._measured = Kept(lambda: over_time(self._files()), clock, least=_MEASURED)
        self._one = threading.Lock()  # whoever reads whole logs, or asks DuckDB, does it one after the other

    def __repr__(self) -> str:
        return f"Facts({self.name})"

    def status(self) -> Status:
        """How the crawl stands."""
        with managing(self._crawl) as managed:
            return managed.status()

    def blacklist(self) -> list[str]:
        """The rules of its blacklist."""
        with managing(self._crawl) as managed:
            return managed.blacklist()

    def survey(self) -> Survey:
        """Its sites, as they were a short while ago."""
        return self._survey.get()

    def site(self, name: str) -> Site:
        """Everything about one site."""
        with self._alone():
            return look_at_site(self._files(), name, self._clock.wall())

    def measured(self) -> dict[str, Any] | None:
        """Its life so far, as plots need it; None where nothing was fetched."""
        return self._measured.get()

    def reports(self) -> list[Report]:
        """The reports that were named when the console was opened, as they are now."""
        return [read_report(path) for path in self._reports]

    def explain(self, url: str) -> Explanation:
        """Why a URL was crawled or not."""
        with self._alone():
            return explain_url(self._files(), url)

    def version(self, fetches: list[dict[str, Any]], place: int, *, source: bool) -> Version:
        """One of the fetches of a page: its words, or its source; both are text."""
        if not 0 <= place < len(fetches) or fetches[place]["volume"] is None:
            raise UsageError("nothing is stored of this version", where=self.name, todo="choose another one")
        row = fetches[place]
        with self._alone():
            content = Content(row, Crawl(self._files()).files.content(row))
        kind = (row["detected_type"] or row["declared_type"] or "").partition(";")[0].lower()
        head = content.head.decode("latin-1")
        if not kind.startswith("text/") and not kind.endswith(_TEXTS):
            said = f"{len(content.body):,} bytes of {kind or 'an unknown type'}: no text. weft show writes it."
            return Version(row, said, cut=False, head=head)
        text = whole_text(content.text) if kind in _HTML and not source else content.text
        return Version(row, text[:_LONGEST], len(text) > _LONGEST, head)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else asks something that takes long. Who has waited for a while is sent away: threads are few, and the
        other pages need them.
        """
        if not self._one.acquire(timeout=_PATIENCE):
            raise WeftError("other questions are being answered", where=self.name, todo="ask again in a moment")
        try:
            yield
        finally:
            self._one.release()

    def _files(self) -> Path:
        if self.out is None:
            raise no_crawl(self.name)
        return self.out

    def check(self) -> None:
        """Is there a crawl, and can it be asked?"""
        if self.out is not None and not (self.out / "crawl.toml").exists():
            raise no_crawl(self.name)
        self.status()
        self.reports()
