"""When something was published. In: what feeds write. Out: seconds since 1970, or None.

RFC 822 as RSS has it, with names of zones, of days in other cases and years of two digits; ISO 8601 as the others do,
whole dates too. What has no zone is UTC. What lies before 1990 or is no time at all is not known.

>>> [told(text) for text in ("Mon, 02 Mar 2026 10:05:03 GMT", "2026-03-02T11:05:03+01:00", "2026-03-02 10:05:03 Z")]
[1772445903.0, 1772445903.0, 1772445903.0]
>>> [told(text) for text in ("2 Mar 26 05:05:03 EST", "2026-03-02", "yesterday", "Thu, 01 Jan 1970 00:00:00 GMT")]
[1772445903.0, 1772409600.0, None, None]
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz

_EARLIEST = 631_152_000.0  # 1990


def told(text: str) -> float | None:
    """The time of a text."""
    text = text.strip()
    found = _iso(text) if text[:4].isdigit() else _rfc822(text)
    return found if found is not None and found >= _EARLIEST else None


def _rfc822(text: str) -> float | None:
    try:
        parts = parsedate_tz(text)
        return None if parts is None else float(mktime_tz(parts))
    except (ValueError, OverflowError, IndexError, TypeError):  # whatever a library of mail thinks of it
        return None


def _iso(text: str) -> float | None:
    day, _, rest = text.replace("t", "T").partition("T" if "T" in text.upper() else " ")
    try:
        found = datetime.fromisoformat(f"{day}T{rest.replace(' ', '')}" if rest else day)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
