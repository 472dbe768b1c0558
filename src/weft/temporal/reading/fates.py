"""What came in, and what was dropped and why. In: the fates of lines and rows. Out: a `Taken` for the report.

Every line of a log has one fate. The broken ones come with examples, named by file and line.

>>> tally = Tally()
>>> tally.note("access.log", np.array([0, Fate.TIME, Fate.METHOD], np.int8), 11)
>>> tally.broken, tally.used, tally.examples
(1, 1, ['access.log, line 13: the time cannot be read'])
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

MOST_EXAMPLES = 20
_KINDS = 16  # of fates, at most


class Fate(IntEnum):
    """What became of a line; `sentence` says it for a person. From `FIELDS` on it was broken."""

    sentence: str

    USED = 0, "it is a view"
    BLANK = 1, "it is empty, or a comment"
    METHOD = 2, "it is no GET"
    STATUS = 3, "the answer was no page: its status is neither 2xx nor 304"
    EMBEDDED = 4, "it is a part of a page: an image, a style sheet, a script or the like"
    FIELDS = 5, "it has not the fields that it should have"
    TIME = 6, "the time cannot be read"
    FUTURE = 7, "the time lies in the future"
    USER = 8, "it does not say who the user is"
    PAGE = 9, "it does not say which page it is"
    COUNT = 10, "the number of views is no whole number"
    QUOTE = 11, "a quotation mark is not closed"
    CONTROL = 12, "there are control characters in it"
    HOST = 13, "it does not name the host"

    def __new__(cls, number: int, sentence: str) -> Self:
        """A member whose value is the number."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.sentence = sentence
        return member


_SENTENCES = {int(fate): fate.sentence for fate in Fate}


@dataclass(slots=True)
class Tally:
    """Fates counted while logs are read."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(_KINDS, np.int64))
    examples: list[str] = field(default_factory=list)

    def note(self, name: str, fates: NDArray[np.int8], before: int, what: str = "line") -> None:
        """Count the fates of consecutive lines (or rows) of a file; so many came before."""
        self.counts += np.bincount(fates, minlength=_KINDS)
        room = MOST_EXAMPLES - len(self.examples)
        for place in np.flatnonzero(fates >= Fate.FIELDS)[:room].tolist():
            self.examples.append(f"{name}, {what} {before + place + 1:,}: {_SENTENCES[int(fates[place])]}")

    def add(self, other: Tally) -> None:
        """What another file had."""
        self.counts += other.counts
        self.examples += other.examples[: MOST_EXAMPLES - len(self.examples)]

    @property
    def used(self) -> int:
        """Rows that may be views."""
        return int(self.counts[Fate.USED])

    @property
    def broken(self) -> int:
        """Lines that could not be read."""
        return int(self.counts[Fate.FIELDS :].sum())

    @property
    def understood(self) -> int:
        """Lines that could be read, whether they are views or not."""
        return int(self.counts[: Fate.FIELDS].sum() - self.counts[Fate.BLANK])


@dataclass(slots=True)
class Taken:
    """What came in, what was dropped and why; numbers of rows unless they are of something else."""

    files: int = 0
    rows: int = 0
    broken: int = 0
    other_methods: int = 0
    """Requests other than GET; access logs only, like the next two."""
    failed: int = 0
    embedded: int = 0
    """Images, style sheets, scripts and the like, by extension or media type."""
    unusable: int = 0
    """Views of something whose URL has no normal form."""
    outside: int = 0
    """Views on days outside the window."""
    small_pages: int = 0
    """Pages under the floor."""
    small_requests: int = 0
    """What they had, repeats of a user on a day included."""
    requests: int = 0
    """What the pages of the result had, repeats included."""
    pages: int = 0
    views: int = 0
    """Distinct users by page and day, or the sum of ready-made counts."""
    examples: list[str] = field(default_factory=list)
    """The first broken lines: `file, line 12: why`."""
    unusable_examples: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, tally: Tally, files: int) -> Taken:
        """What is known when all logs are read and nothing is counted yet."""
        counts = [int(count) for count in tally.counts]
        return cls(
            files=files,
            rows=sum(counts) - counts[Fate.BLANK],
            broken=tally.broken,
            other_methods=counts[Fate.METHOD],
            failed=counts[Fate.STATUS],
            embedded=counts[Fate.EMBEDDED],
            examples=tally.examples,
        )
