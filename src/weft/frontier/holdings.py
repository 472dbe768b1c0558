"""What a worker holds, and what it has for others. In: links. Out: whose they are.

A worker crawls the groups (registered domains) that it has checked out of the global frontier. A link to any other
group goes to the outbox, which is part of the next commit. A worker that is alone takes every group at once.

Where pages are scored by the links to them, every link counts, not only the first: what further ones add is summed up,
and goes out with the next commit as one link to each page.
"""

from __future__ import annotations

from array import array

import msgspec

from weft.frontier.contract import Batch, Link
from weft.frontier.keyed import Keyed
from weft.frontier.log import Commit

_REMEMBERED = 1 << 20  # links sent of late that are not sent again
_GAINING = 1 << 18  # links sent of late whose pages are told of further links to them


class Holdings:
    """The groups of one worker."""

    def __init__(self, keyed: Keyed, *, gaining: bool = False) -> None:
        self._keyed = keyed
        self.alone = True
        self._gaining = gaining  # further links to a page matter
        self._told: dict[int, tuple[str, Link]] = {}  # by key: group and link, where they do
        self._gains: dict[int, float] = {}  # of them, since the last commit
        self.groups: set[str] = set()
        self.batch = Batch(0)  # what goes to the global frontier with the next commit
        self.new: list[str] = []  # groups since the last commit
        # By the last bits of its key: the last link sent. What is pushed out is sent again, which does no harm.
        self._sent = array("Q")

    def __repr__(self) -> str:
        return f"Holdings({len(self.groups)} groups, {'alone' if self.alone else 'one of several'})"

    @property
    def unsent(self) -> bool:
        """Is there something for others that is not yet part of a commit?"""
        return self.batch != Batch(0) or bool(self._gains)

    def holds(self, group: str) -> bool:
        """Is a group ours, or does it become ours now?"""
        if group in self.groups:
            return True
        if self.alone:
            self.check_out(group)
            self.batch.claimed.append(group)
        return self.alone

    def check_out(self, group: str) -> bool:
        """Take a group; was it new?"""
        if group in self.groups:
            return False
        self.groups.add(group)
        self.new.append(group)
        return True

    def pack(self, commit: Commit) -> Batch:
        """Write down the groups since the last commit; what goes to the global frontier with it."""
        commit.groups, self.new = self.new, []
        for key, gain in self._gains.items():
            group, link = self._told[key]
            self.post(group, msgspec.structs.replace(link, gain=gain))
        self._gains = {}
        batch, self.batch = self.batch, Batch(0)
        return batch

    def send(self, group: str, link: Link) -> None:
        """Have a link brought to whoever holds its group, or will."""
        if self._gaining:
            self._remember(group, link)
            return
        if not self._sent:
            self._sent = array("Q", bytes(8 * _REMEMBERED))
        key = self._keyed.of(link.url)
        place = key & (_REMEMBERED - 1)
        if self._sent[place] == key:
            return
        self._sent[place] = key
        self.post(group, link)

    def _remember(self, group: str, link: Link) -> None:
        key = self._keyed.of(link.url)
        if key not in self._told:
            if len(self._told) >= _GAINING:  # start anew; what is still linked to comes again
                self._told = {each: self._told[each] for each in self._gains}
            self._told[key] = (group, link)
            self._gains[key] = 0.0

    def gain(self, key: int, amount: float) -> None:
        """A page of another worker has one more link from here, which adds so much to its score."""
        if key in self._told:
            self._gains[key] = self._gains.get(key, 0.0) + amount

    def post(self, group: str, link: Link) -> None:
        """Send something in any case."""
        self.batch.links.setdefault(group, []).append(link)
