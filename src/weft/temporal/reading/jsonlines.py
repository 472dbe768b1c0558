"""Lines of JSON. In: whole lines, as bytes. Out: the same columns and fates as `cutting` has.

Every line is one object; columns are its keys. Times and users may be numbers.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.temporal.reading.fates import Fate
from weft.temporal.reading.options import Reading
from weft.temporal.reading.times import BAD, of_texts

_Value = str | int | float | None


class JsonLines:
    """Reads the lines of JSON logs that have their columns where the reading says."""

    def __init__(self, reading: Reading) -> None:
        self._who = len(reading.who())
        self._counts = bool(reading.views)
        columns = [(f"c{place}", _Value, None) for place in range(len(reading.columns()))]
        names = {f"c{place}": name for place, name in enumerate(reading.columns())}
        made: Any = msgspec.defstruct("Line", columns, rename=names, array_like=False)
        self._decode = msgspec.json.Decoder(made).decode
        self._fields = [name for name, _, _ in columns]

    def cut(self, chunk: bytes) -> tuple[dict[str, Any], NDArray[np.int8]]:
        """The columns `user`, `us`, `url` and `views` of the lines that can be used, and the fate of every line."""
        lines = chunk.split(b"\n")[:-1]
        fates = np.zeros(len(lines), np.int8)
        times: list[str] = []
        users: list[str] = []
        urls: list[str] = []
        views: list[int] = []
        for number, line in enumerate(lines):
            try:
                values = msgspec.structs.astuple(self._decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError):
                fates[number] = Fate.FIELDS if line.strip() else Fate.BLANK
                continue
            if fate := self._fate(values):
                fates[number] = fate
                continue
            users.append(" ".join(_text(value) for value in values[: self._who]))
            times.append(_text(values[self._who]))
            urls.append(_text(values[self._who + 1]))
            views.append(int(values[-1]) if self._counts else 0)
        us = of_texts(times)
        fates[np.flatnonzero(fates == Fate.USED)[us == BAD]] = Fate.TIME
        kept = np.flatnonzero(us != BAD)
        columns: dict[str, Any] = {
            "user": [users[place] for place in kept],
            "us": us[kept],
            "url": [urls[place] for place in kept],
            "views": [views[place] for place in kept],
        }
        return columns, fates

    def _fate(self, values: tuple[Any, ...]) -> Fate:
        if self._who and values[0] in (None, ""):
            return Fate.USER
        if values[self._who + 1] in (None, ""):
            return Fate.PAGE
        if self._counts and (not isinstance(values[-1], int) or values[-1] < 0):
            return Fate.COUNT
        return Fate.USED


def _text(value: _Value) -> str:
    return "" if value is None else str(value)
