"""What a worker holds, and what it has for others. In: links. Out: whose they are.

A worker crawls the groups (registered domains) that it has checked out of the global frontier. A link to any other
group goes to the outbox, which is part of the next commit. A worker that is alone takes every group at once.

Where pages are scored by the links to them, every link counts, not only the first. Who knows the page on which a link
was found says with which score its page starts (`start`); what further links add is summed up, and goes out with the
next commit as one notice for each page.
"""

from __future__ import annotations

from array import array
from typing import Protocol

import msgspec

from weft.frontier.durable.log import Commit
from weft.frontier.keyed import Keyed
from weft.frontier.shared.contract import Batch, Found, Gain, Notice

_REMEMBERED = 1 << 20  # links sent recently that are not sent again
_GAINING = 1 << 18  # links sent recently whose pages are told of further links to them


class OnShelf(Protocol):
    """Where groups are that were put away."""

    def has(self, group: str) -> bool:
        """Is a group there?"""

    def gather(self, notices: dict[str, list[Notice]], commit: Commit) -> None:
        """Take what is for groups that are there out of some notices; it is part of a commit."""


class Holdings:
    """The groups of one worker, and what it has to tell of others until the next commit."""

    def __init__(self, keyed: Keyed, *, gaining: bool = False) -> None:
        self._keyed = keyed
        self.alone = True
        self.shelf: OnShelf | None = None  # groups there are ours, and told like those of others
        self._gaining = gaining  # further links to a page matter
        self._told: dict[int, tuple[str, str]] = {}  # by key: group and URL, where they do
        self._fresh: dict[int, Found] = {}  # of them, those found since the last commit
        self._gains: dict[int, float] = {}  # of them, what links added since the last commit
        self.groups: set[str] = set()
        self.notices: dict[str, list[Notice]] = {}  # by group: what goes out with the next commit
        self.claimed: list[str] = []  # groups that became ours since the last commit without being asked for
        self.moved: list[tuple[str, str]] = []  # groups given away since the last commit, each to who has an address
        self.new: list[str] = []  # groups since the last commit
        self.admitted: list[str] = []  # into the scope, since the last commit
        # By the last bits of its key: the last link sent. What is pushed out is sent again, which does no harm.
        self._sent = array("Q")

    def __repr__(self) -> str:
        return f"Holdings({len(self.groups)} groups, {'alone' if self.alone else 'one of several'})"

    @property
    def unsent(self) -> bool:
        """Is there something for others that is not yet part of a commit?"""
        return bool(self.notices or self.claimed or self.moved or self.admitted or self._fresh or self._gains)

    def holds(self, group: str) -> bool:
        """Is a group ours, or does it become ours now?"""
        if group in self.groups:
            return True
        if self.shelf is not None and self.shelf.has(group):
            return False
        if self.alone:
            self.check_out(group)
            self.claimed.append(group)
        return self.alone

    @property
    def tells(self) -> bool:
        """Are there groups that are told of links to their pages: those of others, or on the shelf?"""
        return not self.alone or self.shelf is not None

    def check_out(self, group: str) -> bool:
        """Take a group; was it new?"""
        if group in self.groups:
            return False
        self.groups.add(group)
        self.new.append(group)
        return True

    def pack(self, commit: Commit, *, lists: dict[str, int] | None = None) -> Batch:
        """Write down the groups since the last commit; what goes to the global frontier with it."""
        commit.groups, self.new = self.new, []
        commit.scope, self.admitted = self.admitted, []
        for key, found in self._fresh.items():
            self.post(self._told[key][0], msgspec.structs.replace(found, gain=self._gains.pop(key, 0.0)))
        for key, gain in self._gains.items():
            group, url = self._told[key]
            self.post(group, Gain(url, gain))
        if self.shelf is not None and self.notices:
            self.shelf.gather(self.notices, commit)
        batch = Batch(0, self.notices, commit.scope, self.claimed, lists or {}, self.moved)
        self._fresh, self._gains = {}, {}
        self.notices, self.claimed, self.moved = {}, [], []
        return batch

    def send(self, group: str, found: Found) -> None:
        """Have a link brought to whoever holds its group, or will."""
        if self._gaining:
            self._remember(group, found)
            return
        if not self._sent:
            self._sent = array("Q", bytes(8 * _REMEMBERED))
        key = self._keyed.of(found.url)
        place = key & (_REMEMBERED - 1)
        if self._sent[place] == key:
            return
        self._sent[place] = key
        self.post(group, found)

    def _remember(self, group: str, found: Found) -> None:
        key = self._keyed.of(found.url)
        if key not in self._told:
            if len(self._told) >= _GAINING:  # start anew; what is still linked to comes again
                self._told = {each: self._told[each] for each in (*self._fresh, *self._gains)}
            self._told[key] = (group, found.url)
            self._fresh[key] = found

    def told(self, key: int) -> bool:
        """Is the page with this key another worker's, who is told what its score gains?"""
        return key in self._told

    def start(self, key: int, score: float) -> None:
        """The page with this key starts with this score, unless it was told of in a commit before or has one."""
        found = self._fresh.get(key)
        if found is not None and found.score is None:
            self._fresh[key] = msgspec.structs.replace(found, score=score)

    def gain(self, key: int, amount: float) -> None:
        """A page of another worker has one more link from here, which adds so much to its score."""
        if key in self._told:
            self._gains[key] = self._gains.get(key, 0.0) + amount

    def post(self, group: str, notice: Notice) -> None:
        """Send something in any case."""
        self.notices.setdefault(group, []).append(notice)
