"""The one value that all feeds are read into."""

from __future__ import annotations

from typing import Literal, NamedTuple

Form = Literal["rss", "atom", "json", "news", "none"]


class Entry(NamedTuple):
    """A page that a feed announces."""

    url: str  # absolute, not yet in normal form
    published: float | None  # seconds since 1970, as the feed says; None: it does not, or nobody can read it
    title: str


class Feed(NamedTuple):
    """What a feed said, in its own order; each page once."""

    form: Form  # none: it is no feed
    entries: tuple[Entry, ...]
    hub: str  # where WebSub offers to tell of what is new; empty: nowhere
