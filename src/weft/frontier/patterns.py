"""Patterns of URLs that the operator wants, or does not. In: regular expressions in Python's syntax, and a
URL. Out: does one of them match?

URLs come from anybody, and Python's own matcher can take for ever over one that was made for it. RE2 takes time linear
in the URL. What it does not know (back-references, look-around, possessive repeats) is left to Python's matcher, for
URLs of up to 500 characters; one that is longer is not tried, and counts as the caller says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from weft.errors import UsageError

LONGEST_TRIED = 500  # characters; the slowest pattern in use elsewhere, for loops in paths, takes 4 ms for so many
_READ_OTHERWISE = re.compile(r"\{,\d|\[\[?[.:=]")  # by RE2: what Python takes for a number of times, or a plain set


class Patterns:
    """Regular expressions of one setting."""

    def __init__(self, patterns: tuple[str, ...], name: str, *, unsure: bool) -> None:
        self._unsure = unsure  # what is said of a URL that is too long to be tried
        self._slow: list[re.Pattern[str]] = []
        self._quick: Callable[[str], object] | None = None  # the places of those that match, if one does
        if patterns:
            known = _quick_set()
            for pattern in patterns:
                own = _python(pattern, name)
                if _READ_OTHERWISE.search(pattern) or not _add(known, pattern):
                    self._slow.append(own)
            if len(self._slow) < len(patterns):
                known.Compile()
                self._quick = known.Match

    def __repr__(self) -> str:
        return f"Patterns({'quick' if self._quick else 'none quick'}, {len(self._slow)} slow)"

    @property
    def slow(self) -> bool:
        """Is there one that may take milliseconds for a URL?"""
        return bool(self._slow)

    def match(self, url: str) -> bool:
        """Does one of them match anywhere in a URL?"""
        if self._quick is not None and self._quick(url):
            return True
        if not self._slow:
            return False
        return self._unsure if len(url) > LONGEST_TRIED else any(slow.search(url) for slow in self._slow)


def _python(pattern: str, name: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"--{name} is not a regular expression: {error}", where=pattern, todo="see the syntax of Python's re"
        ) from error


def _add(known: Any, pattern: str) -> bool:
    """Add a pattern to a set of RE2, if that can read it."""
    import re2

    try:
        return bool(known.Add(pattern) >= 0)
    except re2.error:
        return False


def _quick_set() -> Any:
    """An empty set of RE2: it looks for all patterns in one pass, in a third of the time of its `search`."""
    import re2  # few crawls have patterns, and it takes 20 ms

    options = re2.Options()
    options.log_errors = False
    return re2.Set.SearchSet(options)
