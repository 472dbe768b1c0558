"""A focused crawl: what is kept and what is followed is decided by what pages are about. In: criteria, in words or as a
function. Out: the pages that meet them, and those that lead to them; the likeliest first.

How likely a page is, is not known before it is fetched. It is taken to be as likely as the page that leads to it and
the link, by what that says (where `link_text` is set) and by the words of its URL, in equal parts: best-first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from weft.applications.criteria import MET, Criterion, Seen, function, seen_link, seen_page
from weft.applications.wording import criterion_of
from weft.engine.application import Application, FetchedPage, Request
from weft.errors import UsageError


class Focused(Application):
    """Follows the links of pages that are about something, and of up to `through` pages in a row behind them that are
    not.

    What it is about is written as `domain:pt or (language:pt and linked-from:pt)`, of these terms: `domain`, `language`
    (as it is detected), `keyword`, `pattern` (a regular expression), `model` (a file that `weft focus train` makes),
    `function` (as module:name) and `linked-from` (the domain of the page that led there). From Python it may be a
    function of the page. What is not about it is not kept, unless `keep` is `all`. A page that was misread is about
    nothing, as far as that rests on its content.
    """

    def __init__(
        self,
        about: str | Callable[[FetchedPage], Any] = "",
        through: int | str = 0,
        keep: str = "matching",
    ) -> None:
        if not about:
            raise UsageError(
                "a focused crawl needs something to look for", todo="give about=…, such as about=keyword:porto,lisbon"
            )
        if keep not in ("matching", "all"):
            raise UsageError(f"what is kept is 'matching' or 'all', not {keep!r}")
        self._criterion: Criterion = criterion_of(about) if isinstance(about, str) else function(about)
        self._remembers = isinstance(about, str) and "linked-from:" in about  # which page led to each
        self._through = int(through)
        self._keep = keep

    def visited(self, page: FetchedPage) -> Iterator[Request]:
        """Follow the links, if the page is about it or one was a few steps before; meta says how many steps."""
        steps, via = page.meta or (0, "")
        score = self.score(page, via)
        away = 0 if score >= MET else steps + 1
        if away and self._keep == "matching":
            page.discard()
        if away <= self._through:
            meta = (away, page.url if self._remembers else "")
            for link in page.links:
                if away < self._through or self._may_be(link, page.url):
                    priority = self._priority(link, page, score)
                    yield Request(link, priority=priority, meta=meta if any(meta) else None)

    def score(self, page: FetchedPage, via: str = "") -> float:
        """How well a page meets the criteria, from 0 to 1; a page that led to it may matter."""
        return self._criterion(seen_page(page, via)) or 0.0

    def _may_be(self, link: str, via: str) -> bool:
        """Can what a link leads to be about it, as far as that is known without what it says?"""
        certain = self._criterion(Seen(link, via))
        return certain is None or certain >= MET

    def _priority(self, link: str, page: FetchedPage, score: float) -> float:
        """From -1 to 0: seeds, which have 0, come before all that is less than certain."""
        likely = self._criterion(seen_link(link, page.link_texts.get(link, ""), page.url))
        return (score + (score if likely is None else likely)) / 2 - 1
