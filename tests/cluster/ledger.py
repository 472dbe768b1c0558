"""Who was told what, counted beside the code under test. In: commits, reports and orders of one worker. Out: every
batch that is applied twice or out of order, and every message that is taken in twice, or passed over.

A message counts as taken in when the commit that has it is on disk: a worker that is killed before takes it in again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.frontier.shared.contract import Batch, Orders, Report
from weft.store.files import SETTLED

_AS_IT_GOES_ON = -1  # the last message that the log has which was written anew


class WorkerLedger:
    """What one worker was given, over all its lives."""

    def __init__(self, number: int, broken: Callable[[str], None]) -> None:
        self._number = number
        self._broken = broken
        self._taken = 0  # the last message that was taken in
        self._taken_by: dict[int, int] = {}  # by commit: the last message that it has
        self._packed_at: dict[int, float] = {}  # by commit: when
        self._wrote: list[tuple[int, float, int]] = []  # commits on disk: number, when packed, length of the log then
        self._gap_behind: int | None = None  # the message behind which numbers are missing, since it was handed over
        self._since_lost = SETTLED + 1  # commits since a disk lost some
        self._floor = 0  # bytes of its log that no commit of a life since has written
        self._applied = 0
        self._on_disk = 0  # the last commit that was ever written

    def __repr__(self) -> str:
        return f"WorkerLedger({self._number}, message {self._taken}, batch {self._applied})"

    def tell(self, what: str, value: Any, now: float) -> None:
        """The local frontier does something."""
        if what == "packed":
            self._packed_at[value] = now
            self._taken_by[value] = self._taken
        elif what == "wrote":
            self._wrote.append((value[0], self._packed_at[value[0]], value[1]))
            self._since_lost += 1
            self._on_disk = value[0]
        elif what == "obeying":
            self._obeying(value)
        elif what == "recovered":
            self._recovered(value[1], value[2])

    def _obeying(self, orders: Orders) -> None:
        if orders.messages:
            first = orders.taken - len(orders.messages) + 1
            if first != self._taken + 1 and not (self._taken == self._gap_behind and first > self._taken):
                self._broken(f"worker {self._number} takes in message {first} behind message {self._taken}")
            self._taken = orders.taken

    def _recovered(self, last: Any, size: int) -> None:
        number = 0 if last is None else last.number
        self._taken = 0 if last is None else self._taken_by.get(number, last.taken)
        if last is not None and last.taken != self._taken:
            self._broken(
                f"commit {number} of worker {self._number} took in {self._taken} messages, and says {last.taken}"
            )
        self._wrote = [each for each in self._wrote if each[0] <= number]
        if not self._wrote:
            self._floor = size
        elif self._wrote[-1][0] < number:  # it was killed by the sync behind it
            self._wrote.append((number, self._packed_at[number], size))
        if self._gap_behind == _AS_IT_GOES_ON:
            self._gap_behind = self._taken

    def handed_over(self) -> None:
        """Its log is written anew, and what it had not read goes elsewhere: it goes on with any later message."""
        self._taken_by = {}
        self._wrote = []
        self._gap_behind = _AS_IT_GOES_ON

    def asked(self, report: Report) -> None:
        """A report goes out."""
        del report

    def apply(self, batch: Batch) -> None:
        """The global frontier applies a batch."""
        if batch.number <= self._applied:
            self._broken(f"batch {batch.number} of worker {self._number} is applied behind batch {self._applied}")
        if batch.number > self._on_disk:
            self._broken(f"batch {batch.number} of worker {self._number} is applied, and its commit is not on disk")
        self._applied = batch.number

    def durable(self, lost: int = 0) -> float:
        """When the last commit that is on disk was packed; without so many of the last ones."""
        kept = self._wrote[: len(self._wrote) - lost]
        return kept[-1][1] if kept else -1e9

    @property
    def ends(self) -> list[int]:
        """Where commits end in the log that grows, those of lives before included; what it begins with is first: that
        is not lost, where it stands for all that a worker handed over.
        """
        ends = [self._floor]
        for _, _, end in self._wrote:
            if end <= ends[-1]:
                ends = [0]
            ends.append(end)
        return ends

    def may_lose(self) -> bool:
        """Have more than two commits been written since a disk lost some? Numbers of lost ones are not given again, so
        that who loses the next two as well has lost more than was promised, by all that the log says.
        """
        return self._since_lost > SETTLED

    def lost(self) -> None:
        """A disk loses commits that it had said were synced."""
        self._since_lost = 0
