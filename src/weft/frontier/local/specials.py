"""Special requests of a worker, and leave to send what must be sent once. In: requests, commits. Out: how each page is
asked for, across restarts.

A POST is sent at most once, unless it may be repeated: that it is about to be sent is part of a commit before it is,
and one that was, and whose outcome is in no commit, is over when the log is read again. Nothing here costs anything in
a crawl that has no such requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from weft.frontier.durable.records import Commit
from weft.frontier.special import Special, decode, encode
from weft.model import Reason

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
        self.ever = False  # was there a secret one at all, in this run or an earlier one?

    def __repr__(self) -> str:
        return f"Specials({len(self.of)} pages, {len(self._intended)} intended)"

    @property
    def waiting(self) -> bool:
        """Does a request wait for a commit?"""
        return bool(self._asking)

    def get(self, page: int) -> Special | None:
        """How a page is asked for; None for the usual way."""
        return self.of.get(page)

    def encoded(self, page: int) -> bytes:
        """The same as bytes; none for the usual way."""
        special = self.of.get(page)
        return b"" if special is None else encode(special)

    def add(self, page: int, special: Special) -> None:
        """A page is to be asked for like this."""
        self.ever |= special.secret
        self.of[page] = special
        self._new.append((page, encode(special)))

    def join(self, page: int, special: Special) -> None:
        """A page that is to be asked for is asked for once more: whoever wants it now is told of it too."""
        known = self.of.get(page)
        if known is not None and known.owners | special.owners != known.owners:
            self.add(page, msgspec.structs.replace(known, owners=known.owners | special.owners))

    def put_off(self, page: int, wall: float) -> float:
        """How many seconds a page is not to be asked for yet; 0: it may be now."""
        special = self.of.get(page)
        return 0.0 if special is None else max(0.0, special.due - wall)

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

    def put_away(self, gone: Iterable[int]) -> None:
        """Pages are here no more."""
        for page in gone:
            self.over(page)

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

    def restore(self, requests: dict[int, bytes], *, every: Iterable[bytes] = ()) -> None:
        """Take back how pages that are not done are asked for; `every` are those of all pages there were."""
        self.ever = any(decode(data).secret for data in every)
        self.of.update({page: decode(data) for page, data in requests.items()})
