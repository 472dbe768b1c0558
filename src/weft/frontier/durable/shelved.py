"""What is known of groups on the shelf without looking into its runs. In: a checkpoint's table, and commits. Out: a row
for each group that is there, or has mail there.

A group that came back may have mail that is in no run yet: its row stays until that was read, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.frontier.durable.records import Commit

AWAY = 1  # the group is on the shelf
ASIDE = 2  # a site of it was set aside

ROW = np.dtype(
    [
        ("key", "<u8"),
        ("left_in", "<u4"),  # the log by which it was put away
        ("mail_in", "<u4"),  # the log that has the last mail for it
        ("mail", "<u4"),  # notices
        ("pending", "<u4"),  # pages that may be visited
        ("pages", "<u4"),  # that are known
        ("worth", "<f8"),  # of the best of them, by the ordering
        ("at", "<f8"),  # wall time before which nothing can be done there
        ("rest", "<f8"),  # seconds from when it was put away to then
        ("flags", "u1"),
    ]
)
NOTHING = float("-inf")


class Shelved:
    """The rows of one frontier."""

    def __init__(self, base: NDArray[Any] | None = None) -> None:
        self._base = np.empty(0, ROW) if base is None else base  # sorted by key
        self._since: dict[int, list[Any] | None] = {}  # rows that changed; None: there is none any more

    def __repr__(self) -> str:
        return f"Shelved({len(self._base)} rows, {len(self._since)} changed since)"

    def __bool__(self) -> bool:
        return bool(len(self._base) or self._since)

    def take(self, commit: Commit, log: int) -> None:
        """The next commit, which is in a log."""
        for key, upto in commit.unshelved:
            row = self._row(key)
            row[4:] = [0, 0, NOTHING, 0.0, 0.0, 0]
            if row[2] < upto:
                row[3] = 0
            if not row[3]:
                self._since[key] = None
        for group in commit.shelved:
            row = self._row(group.key)
            flags = AWAY | (ASIDE if group.aside else 0)
            rest = max(0.0, group.at - commit.wall)
            row[1], row[4:] = log, [group.pending, group.pages, group.worth, group.at, rest, flags]
        for key, count, worth, _data in commit.mail:
            row = self._row(key)
            row[2], row[3], row[6] = log, row[3] + count, max(row[6], worth)

    def _row(self, key: int) -> list[Any]:
        row = self._since.get(key)
        if row is None:
            place = int(np.searchsorted(self._base["key"], np.uint64(key)))
            there = key not in self._since and place < len(self._base) and int(self._base["key"][place]) == key
            row = list(self._base[place].item()) if there else [key, 0, 0, 0, 0, 0, NOTHING, 0.0, 0.0, 0]
            self._since[key] = row
        return row

    def rows(self) -> NDArray[Any]:
        """All of them, sorted by key."""
        if not self._since:
            return self._base
        changed = np.fromiter(self._since, np.uint64, len(self._since))
        kept = self._base[~np.isin(self._base["key"], changed)]
        new = np.array([tuple(row) for row in self._since.values() if row is not None], ROW)
        rows = np.concatenate([kept, new])
        return rows[np.argsort(rows["key"])]
