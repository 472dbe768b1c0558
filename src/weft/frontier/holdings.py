"""What a worker holds, and what it has for others. In: links. Out: whose they are.

A worker crawls the groups (registered domains) that it has checked out of the global frontier. A link to any other
group goes to the outbox, which is part of the next commit. A worker that is alone takes every group at once.
"""

from __future__ import annotations

from array import array

from weft.frontier.contract import Batch, Link
from weft.frontier.log import Commit
from weft.urls import fingerprint

_REMEMBERED = 1 << 20  # links sent of late that are not sent again


class Holdings:
    """The groups of one worker."""

    def __init__(self) -> None:
        self.alone = True
        self.groups: set[str] = set()
        self.batch = Batch(0)  # what goes to the global frontier with the next commit
        self.new: list[str] = []  # groups since the last commit
        # By the last bits of its fingerprint: the last link sent. What is pushed out is sent again, which does no harm.
        self._sent = array("Q")

    def __repr__(self) -> str:
        return f"Holdings({len(self.groups)} groups, {'alone' if self.alone else 'one of several'})"

    @property
    def unsent(self) -> bool:
        """Is there something for others that is not yet part of a commit?"""
        return self.batch != Batch(0)

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
        batch, self.batch = self.batch, Batch(0)
        return batch

    def send(self, group: str, link: Link) -> None:
        """Have a link brought to whoever holds its group, or will."""
        if not self._sent:
            self._sent = array("Q", bytes(8 * _REMEMBERED))
        target = fingerprint(link.url)
        place = target & (_REMEMBERED - 1)
        if self._sent[place] == target:
            return
        self._sent[place] = target
        self.post(group, link)

    def post(self, group: str, link: Link) -> None:
        """Send something in any case."""
        self.batch.links.setdefault(group, []).append(link)
