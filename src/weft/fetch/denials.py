"""Is it true that a name does not exist? In: that some were denied, and names that existed. Out: whether the name
servers still know one of these.

A name server that denies everything (a broken zone, an expired account, a portal that wants a login) looks like a web
of dead names. So a denial counts only when, after it, one of the names that were found before is found again. Denials
that come together are looked at together, no more often than once a second: what was heard a moment ago proves nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

EVERY = 1.0  # seconds between two looks
_AT_ONCE = 10  # who asked that are told in one turn of the loop
_CONTROLS = 4  # names that existed, which are tried one after the other: one of them may have gone

Told = Callable[[bool], None]


class Denials:
    """Looks at denials for one resolver, which owns it."""

    def __init__(
        self,
        ask: Callable[[str, Told], None],
        *,
        now: Callable[[], float],
        later: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self._ask = ask  # whether a name exists, past every cache
        self._now = now
        self._later = later
        self._existing: deque[str] = deque(maxlen=_CONTROLS)
        self._doubted: list[Told] = []
        self._looked_at = -EVERY
        self.looks = 0

    def __repr__(self) -> str:
        return f"Denials({len(self._existing)} names to compare with, {len(self._doubted)} in doubt)"

    def exists(self, host: str) -> None:
        """A name server has told the address of a name."""
        if host not in self._existing:
            self._existing.append(host)

    def true(self, done: Told) -> None:
        """Something was denied: call `done` with whether that can be believed; not so where nothing was ever found."""
        if not self._existing:
            done(False)
            return
        self._doubted.append(done)
        if len(self._doubted) == 1:
            self._later(max(0.0, self._looked_at + EVERY - self._now()), self._look)

    def _look(self) -> None:
        self._looked_at = self._now()
        self.looks += 1
        doubted, self._doubted = self._doubted, []
        controls = list(self._existing)

        def heard(exists: bool) -> None:
            if exists or not controls:
                self._tell(doubted, exists)
            else:
                self._ask(controls.pop(), heard)

        self._ask(controls.pop(), heard)

    def _tell(self, doubted: list[Told], exists: bool) -> None:
        """Tell some now and the others soon: each of them ends a visit, and begins others."""
        for done in doubted[:_AT_ONCE]:
            done(exists)
        if rest := doubted[_AT_ONCE:]:
            self._later(0.0, partial(self._tell, rest, exists))
