"""Requests that are more than a URL. In: what an application asks for. Out: how a page is to be asked for, across
restarts; and leave to send what must be sent once.

A request has headers of its own, or is a POST with a body. A POST is sent at most once, unless it may be repeated:
that it is about to be sent is part of a commit before it is, and one that was, and whose outcome is in no commit, is
over when the log is read again. Nothing here costs a crawl anything that has no such requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from xxhash import xxh3_64_intdigest

from weft.model import Reason

if TYPE_CHECKING:
    from weft.frontier.log import Commit

# Nothing was sent: the next try is the first.
_UNSENT = frozenset(
    (
        Reason.DNS_NOT_FOUND,
        Reason.DNS_FAILED,
        Reason.DNS_SPECIAL,
        Reason.CONNECT_REFUSED,
        Reason.CONNECT_TIMEOUT,
        Reason.CONNECT_FAILED,
        Reason.TLS,
    )
)


class Special(msgspec.Struct, frozen=True, array_like=True):
    """How a page is asked for, where that is not just by its URL."""

    headers: dict[str, str]
    body: bytes | None  # None for GET
    repeat: bool  # it may be sent again when its outcome is unknown
    after: int = 0  # the id of the POST whose answer led to it, where the page was known already

    @property
    def once(self) -> bool:
        """Must it not be sent twice?"""
        return self.body is not None and not self.repeat

    def name(self, url: str) -> bytes:
        """What tells the request from others: a GET is its URL, whatever its headers; else all of it counts."""
        if self.body is None and not self.after:
            return url.encode()
        what = b"POST " if self.body is not None else b"GET "
        return b"%s%s\n%x\n%s" % (what, url.encode(), self.after, self.body or b"")

    def id(self, url: str) -> int:
        """What the request is called in columns: for a GET it is the URL's fingerprint."""
        digest: int = xxh3_64_intdigest(self.name(url))
        return digest


class Specials:
    """The special requests of one local frontier."""

    def __init__(self) -> None:
        self.of: dict[int, Special] = {}  # by page, until it is done: most crawls have none, and look no further
        self._intended: set[int] = set()  # pages: it is on disk that they are about to be asked for
        self._sending: set[int] = set()  # of these, those that are being asked for
        self._asking: dict[int, Callable[[None], None]] = {}  # pages whose intention is in no commit yet
        self._packed: list[tuple[int, Callable[[None], None]]] = []  # … is in the one that is being written
        # For the next commit.
        self._new: list[tuple[int, bytes]] = []
        self._changes: list[tuple[int, bool]] = []
        self.ever = False  # was there one at all, in this run or an earlier one?

    def __repr__(self) -> str:
        return f"Specials({len(self.of)} pages, {len(self._intended)} intended)"

    @property
    def waiting(self) -> bool:
        """Does a request wait for a commit?"""
        return bool(self._asking)

    def get(self, page: int) -> Special | None:
        """How a page is asked for; None for the usual way."""
        return self.of.get(page)

    def add(self, page: int, special: Special) -> None:
        """A page is to be asked for like this."""
        self.ever = True
        self.of[page] = special
        self._new.append((page, msgspec.msgpack.encode(special)))

    def may_retry(self, page: int, reason: Reason) -> bool:
        """Is a page that failed like this to be asked for again, as far as its request goes?"""
        special = self.of.get(page)
        return special is None or not special.once or reason in _UNSENT

    # What is sent once.

    def intend(self, page: int, done: Callable[[None], None]) -> None:
        """Call `done` when it is on disk that a page is about to be asked for."""
        self._asking[page] = done

    def intended(self, page: int) -> bool:
        """May a page be asked for now?"""
        return page in self._intended

    def sending(self, page: int) -> None:
        """A page is asked for: from here on its outcome is unknown until it is known."""
        self._sending.add(page)

    def withdraw(self, page: int) -> None:
        """A page was not asked for after all, or certainly not reached."""
        self._sending.discard(page)
        if page in self._intended:
            self._intended.discard(page)
            self._changes.append((page, False))

    def over(self, page: int) -> None:
        """A page is done."""
        self.of.pop(page, None)
        self._intended.discard(page)
        self._sending.discard(page)

    # Commits.

    def pack(self, commit: Commit, *, clean: bool) -> None:
        """Write down what changed; at a clean end, what was intended and never sent is so no more."""
        if clean:
            for page in self._intended - self._sending:
                self.withdraw(page)
        elif self._asking:
            self._packed = list(self._asking.items())
            self._asking = {}
            self._changes += [(page, True) for page, _ in self._packed]
        commit.requests, self._new = self._new, []
        commit.sent, self._changes = self._changes, []

    def written(self) -> None:
        """What was packed is on disk."""
        if self._packed:
            packed, self._packed = self._packed, []
            for page, done in packed:
                self._intended.add(page)
                done(None)

    def restore(self, requests: dict[int, bytes], *, ever: bool) -> None:
        """Take back how pages that are not done are asked for."""
        self.ever = ever
        self.of.update({page: msgspec.msgpack.decode(data, type=Special) for page, data in requests.items()})
