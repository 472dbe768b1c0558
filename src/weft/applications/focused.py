"""A focused crawl: links are followed from pages that are about something. In: keywords, a pattern or a function. Out:
the pages that match, and those that lead to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from weft.engine.application import Application, FetchedPage, Request
from weft.errors import UsageError
from weft.settings import named


class Focused(Application):
    """Follows the links of pages that match, and of up to `through` pages in a row behind them that do not.

    A page matches when its title or its source has one of the `keywords` (several are separated by commas; whole words,
    whatever their case), or something that the regular expression `pattern` finds, or when the function `matches`
    (which may be named, as `module:function`) says so of it. What does not match is not kept, unless `keep` is `all`.
    """

    def __init__(
        self,
        keywords: str = "",
        pattern: str = "",
        matches: Callable[[FetchedPage], bool] | str | None = None,
        through: int | str = 0,
        keep: str = "matching",
    ) -> None:
        words = [re.escape(word.strip()) for word in keywords.split(",") if word.strip()]
        patterns = [rf"\b(?:{'|'.join(words)})\b"] * bool(words) + [pattern] * bool(pattern)
        if not patterns and matches is None:
            raise UsageError("a focused crawl needs something to look for", todo="give keywords, pattern or matches")
        if keep not in ("matching", "all"):
            raise UsageError(f"what is kept is 'matching' or 'all', not {keep!r}")
        self._patterns = [re.compile(each, re.IGNORECASE) for each in patterns]
        self._function: Any = named(matches, "the function") if isinstance(matches, str) else matches
        self._through = int(through)
        self._keep = keep

    def visited(self, page: FetchedPage) -> Iterator[Request]:
        """Follow the links, if the page matches or one did a few steps before; meta says how many steps."""
        away = 0 if self.is_match(page) else (page.meta or 0) + 1
        if away and self._keep == "matching":
            page.discard()
        if away <= self._through:
            for link in page.links:
                yield Request(link, priority=-away, meta=away or None)

    def is_match(self, page: FetchedPage) -> bool:
        """Is a page about it?"""
        if self._function is not None and self._function(page):
            return True
        return any(each.search(page.title) or each.search(page.text) for each in self._patterns)
