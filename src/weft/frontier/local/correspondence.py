"""A worker's side of its exchanges with the global frontier. In: batches and orders. Out: reports.

A batch belongs to a commit and is sent when that is on disk; it is sent again until the global frontier says that it
was applied. A message of the inbox is kept for us until the commit that took it in is settled: two further commits
are on disk, so that losing the last ones loses no message. An exchange may fail, or come to pass without our hearing
of it: what was said then is said again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import msgspec

from weft.frontier.durable.log import Commit
from weft.frontier.shared.contract import Batch, Begun, Orders, Report
from weft.store.files import SETTLED


class Correspondence:
    """What one worker has sent to the global frontier and read from it; its local frontier owns it.

    Batches leave it in the order of their commits, none before its commit is on disk, and none is dropped before the
    global frontier says that it was applied.
    """

    def __init__(self, begun: Begun | None = None) -> None:
        begun = begun or Begun(0, 0, alone=True)
        self._incarnation = begun.incarnation
        self._began = self._applied = begun.applied
        self._number = begun.applied  # of the last commit
        self._written = begun.applied  # of the last that is on disk
        self._replayed = 0  # the last commit that our log has
        self._batches: deque[Batch] = deque()  # not known to have been applied
        self._taken = 0  # the last message taken in
        self._history: deque[int] = deque(maxlen=SETTLED + 1)  # what was taken in by the last commits
        self._released: dict[str, float] = {}  # addresses given back, and not known to have been heard
        self._scope = 0
        self._version = 0  # how often the global frontier heard of us, as far as we know
        self.rules = 0  # the last change of the blacklist that is known

    def __repr__(self) -> str:
        return f"Correspondence(batch {self._number}, {len(self._batches)} to be applied, message {self._taken})"

    @property
    def behind(self) -> bool:
        """Does the global frontier know of commits that are lost here?"""
        return self._replayed < self._began

    @property
    def number(self) -> int:
        """Of the last commit."""
        return self._number

    @property
    def applied(self) -> int:
        """The last commit that the global frontier is known to have heard of."""
        return self._applied

    @property
    def unwritten(self) -> bool:
        """Is there a batch that may not be sent yet?"""
        return bool(self._batches) and self._batches[-1].number > self._written

    def seal(self, batch: Batch, commit: Commit) -> None:
        """Make a batch part of a commit."""
        self._number += 1
        commit.number = self._number
        commit.taken = self._taken
        commit.version = self._version
        batch = msgspec.structs.replace(batch, number=self._number)
        if batch != Batch(self._number):
            commit.batch = msgspec.msgpack.encode(batch)
            self._batches.append(batch)

    def load(self, commit: Commit, batches: Iterable[bytes]) -> None:
        """Take up a checkpoint: its last commit, and the batches that were not known to have been applied."""
        found = (msgspec.msgpack.decode(batch, type=Batch) for batch in batches)
        self._batches += [batch for batch in found if batch.number > self._applied]
        self.replay(commit)

    def replay(self, commit: Commit) -> None:
        """Take up a commit of an earlier run."""
        if commit.batch and commit.number > self._applied:
            self._batches.append(msgspec.msgpack.decode(commit.batch, type=Batch))
        self._number = max(self._number, commit.number)
        self._replayed = commit.number
        self._version = max(self._version, commit.version)
        self.committed(self._number, commit.taken)

    def committed(self, number: int, taken: int) -> None:
        """The commit with this number is on disk, which took in so much."""
        self._written = number
        self._taken = max(self._taken, taken)
        self._history.append(taken)

    def report(self, worker: int, *, released: Iterable[tuple[str, float]] = (), **standing: Any) -> Report:
        """A report: what is to be told, and how the worker stands."""
        self._released |= dict(released)
        settled = self._history[0] if len(self._history) > SETTLED else 0
        return Report(
            worker=worker,
            incarnation=self._incarnation,
            batches=[batch for batch in self._batches if batch.number <= self._written],
            number=self._written,
            taken=self._taken,
            settled=settled,
            scope=self._scope,
            rules=self.rules,
            version=self._version,
            released=list(self._released.items()),
            **standing,
        )

    def read(self, orders: Orders) -> None:
        """Orders have come, and are obeyed."""
        self._applied = max(self._applied, min(orders.applied, self._number))
        while self._batches and self._batches[0].number <= orders.applied:
            self._batches.popleft()
        self._released = {}
        self._taken = max(self._taken, orders.taken)
        self._scope = max(self._scope, orders.scope_at)
        self._version = max(self._version, orders.version)
        self.rules = orders.rules_at
