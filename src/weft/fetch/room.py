"""Memory for large answers, shared by all connections of a worker. In: answers as they grow. Out: which of them is cut.

Every answer may have a megabyte. What is beyond that counts against one sum for all, until the answer is done with:
read and written down. When the sum is used up, the answer that began first gives way: it keeps its first megabyte,
which is told like any other cut by length. Who sends quickly is through before that; who sends slowly, on purpose or
not, holds nobody up.
"""

from __future__ import annotations

from typing import Protocol

FREE = 1_000_000  # bytes of any answer


class Growing(Protocol):
    """What a room knows of an answer that is coming: whether it still is, and how to cut it."""

    @property
    def coming(self) -> bool:
        """Is it still? Else it is being read, and cannot be cut."""
        ...

    def give_way(self) -> None:
        """Keep no more than `FREE` bytes, and take no more."""
        ...


class Room:
    """The memory that large answers hold together; one for a worker's transport. It is never more than the most."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[Growing, int] = {}  # beyond what is free, in the order in which they began to hold it
        self.total = 0

    def __repr__(self) -> str:
        return f"Room({self.total} of {self._most} bytes, {len(self._held)} answers)"

    def grow(self, answer: Growing, amount: int) -> bool:
        """An answer grows; False where it is itself the one to give way."""
        self._held[answer] = self._held.get(answer, 0) + amount
        self.total += amount
        while self.total > self._most:
            first = next((each for each in self._held if each.coming), answer)
            self.release(first)
            first.give_way()
            if first is answer:
                return False
        return True

    def release(self, answer: Growing) -> None:
        """An answer is done with, or cut."""
        self.total -= self._held.pop(answer, 0)
