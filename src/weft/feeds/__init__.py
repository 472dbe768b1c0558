"""What feeds announce. In: the bytes of an RSS, Atom or JSON feed, or of a sitemap of news. Out: `Feed`, for all alike.

A feed tells of new pages before anybody links to them: where they are, when they were published, what they are called.
It is read as it comes: without its end, with ampersands that nobody escaped, in another charset than it says, with
dates in any of the usual ways. No XML parser: nothing that a feed declares is expanded, and time and memory are bounded
by its length. Where feeds are found, and whether their word is worth anything, is not decided here (`revisit.hints`).
"""

from __future__ import annotations

from weft.feeds.entry import Entry, Feed, Form
from weft.feeds.reading import read_feed

__all__ = ["Entry", "Feed", "Form", "read_feed"]
