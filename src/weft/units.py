"""Quantities as people write and read them. In: a text such as "2 GB", "10 min" or "50 pages/min". Out: a plain number;
and the other way round.

Powers of a thousand have the SI's names (kB, MB), those of 1,024 the IEC's (KiB, MiB). Case does not matter, and the
blank before the unit may be left out. A text that is no quantity raises a `ValueError` that says what would be one.

>>> quantity("2 GB", "bytes"), quantity("2MiB", "bytes"), quantity("10 min", "seconds"), quantity("0.5", "seconds")
(2000000000, 2097152, 600, 0.5)
>>> rates("50 pages/min 1 MB/s")
{'pages': 0.8333333333333334, 'bytes': 1000000.0}
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Literal

Unit = Literal["bytes", "seconds"]

EXAMPLES: dict[Unit, str] = {"bytes": "500000, '500 kB' or '2 GiB'", "seconds": "90, '10 min' or '2 h'"}
"""How such a quantity may be written, for messages."""

_SPEEDS = "write such as '200 pages/s', '50 pages/min', '1 MB/s' or none"

_BYTES = {"": 1, "b": 1, "byte": 1, "bytes": 1} | {
    f"{letter}{rest}": base**power
    for power, letter in enumerate("kmgt", 1)
    for rest, base in (("b", 1000), ("ib", 1024))
}
_SECONDS: dict[str, Decimal | int] = {
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1),
    **dict.fromkeys(("min", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
    "ms": Decimal("0.001"),
}
_FACTORS: dict[Unit, dict[str, Decimal | int]] = {"bytes": {**_BYTES}, "seconds": _SECONDS}
_MOST_DIGITS = (
    30  # beyond this a number is no quantity of ours; a text of nine letters can stand for a gigabyte of them
)

_NUMBER = r"[+-]?(?:[0-9](?:_?[0-9])*(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]{1,4})?"
_quantity = re.compile(rf"\s*({_NUMBER}|[+-]?(?:nan|inf|infinity))\s*([a-z]*)\s*", re.IGNORECASE | re.ASCII).fullmatch
_rate = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([a-z]+)\s*/\s*([a-z]+)", re.IGNORECASE | re.ASCII).match


def quantity(text: str, unit: Unit) -> int | float:
    """The bytes or seconds that a text means; a number alone is one of them. NaN and infinity are read as such."""
    found = _quantity(text)
    factor = None if found is None else _FACTORS[unit].get(found[2].lower())
    if found is None or factor is None:
        raise ValueError(f"give {unit}, such as {EXAMPLES[unit]}")
    number = Decimal(found[1])
    if not number.is_finite() or number.adjusted() > _MOST_DIGITS:
        return float(number) * float(factor)
    number *= factor
    return int(number) if number == number.to_integral_value() else float(number)


def rates(text: str) -> dict[str, float]:
    """Pages and bytes a second, each at most once: `N pages/s`, `N MB/min` …

    >>> rates("200pages/s"), rates("5000000 bytes/s")
    ({'pages': 200.0}, {'bytes': 5000000.0})
    """
    found: dict[str, float] = {}
    place = 0
    while place < len(text.rstrip()):
        match = _rate(text, place)
        if match is None:
            raise ValueError(_SPEEDS)
        number, what, per = match.groups()
        name, factor = ("pages", 1) if what.lower() in ("page", "pages") else ("bytes", _BYTES.get(what.lower(), 0))
        seconds = _SECONDS.get(per.lower(), 0)
        if not factor or not seconds or name in found:
            raise ValueError(_SPEEDS)
        found[name] = float(number) * factor / float(seconds)
        if not 0 < found[name] < math.inf:
            raise ValueError(_SPEEDS)
        place = match.end()
    return found


def size(amount: float) -> str:
    """Bytes for a person.

    >>> size(1_500_000)
    '1.5 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def span(seconds: float) -> str:
    """A time for a person.

    >>> span(42), span(600), span(9000), span(2e6)
    ('42 s', '10 min', '2.5 h', '23 days')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"
