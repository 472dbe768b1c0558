"""Texts of a site that are like others of it. In: SimHashes as pages are read. Out: was there one like it lately?

Only the last texts of a site are compared: a site that shows one page under many addresses shows it again and again.

>>> alike = Alike()
>>> [alike.repeats(1, simhash) for simhash in (0b1011, 0b1000, -1, 0b1011)]
[False, True, False, True]
>>> alike.repeats(2, 0b1011)
False
"""

from __future__ import annotations

from collections import deque

from weft.text.simhash import distance

_TEXTS = 32  # of a site that are remembered
_SITES = 10_000  # of which texts are: those that were asked about last
_WITHIN = 5  # bits in which two alike ones differ at most, as `weft duplicates` has it


class Alike:
    """The last SimHashes of sites, by their numbers; for one worker, and one run."""

    def __init__(self) -> None:
        self._last: dict[int, deque[int]] = {}

    def __repr__(self) -> str:
        return f"Alike({len(self._last)} sites)"

    def repeats(self, site: int, simhash: int) -> bool:
        """Is a text like one of the last of its site? It is one of these from now on."""
        last = self._last.pop(site, None)
        if last is None:
            last = deque(maxlen=_TEXTS)
            if len(self._last) >= _SITES:
                del self._last[next(iter(self._last))]
        self._last[site] = last
        found = any(distance(simhash, other) <= _WITHIN for other in last)
        if not found:
            last.append(simhash)
        return found
