"""How far the reading is. In: fractions of its stages. Out: steps out of a thousand, told to whoever wants to know.

>>> steps = []
>>> progress = Progress(lambda done, of: steps.append(done), {"logs": 1.0, "counting": 3.0})
>>> progress.stage("logs")(0.5)
>>> progress.stage("counting")(1.0)
>>> steps
[125, 1000]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

STEPS = 1000


class Progress:
    """Stages that follow each other, each of which takes a known share of the time."""

    def __init__(self, tell: Callable[[int, int], None] | None, shares: Mapping[str, float]) -> None:
        self._tell = tell
        self._shares = dict(shares)
        self._told = 0

    def stage(self, name: str, part: int = 0, parts: int = 1) -> Callable[[float], None]:
        """What takes the fraction that is done of a stage, or of one of its equal parts."""
        total = sum(self._shares.values())
        names = list(self._shares)
        before = sum(self._shares[other] for other in names[: names.index(name)])

        def advance(fraction: float) -> None:
            done = before + self._shares[name] * (part + fraction) / parts
            steps = int(STEPS * done / total)
            if self._tell is not None and steps > self._told:
                self._told = steps
                self._tell(steps, STEPS)

        return advance
