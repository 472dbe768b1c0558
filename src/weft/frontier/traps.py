"""Signs of a trap in a URL. In: a URL in normal form. Out: does it look like one of those that have no end?

A trap makes new URLs from old ones: a relative link that is taken for one of the folder below (`/a/b/a/b/a/b/`), a
parameter that is added once more, a calendar whose next month is always there (P3, section 3.4; Heritrix refuses
repeated segments too). Real URLs do so now and then: the limits are settings.

>>> repeats("http://a.example/x/y/x/y/x/y/x/y/", 3), repeats("http://a.example/x/y/x/", 3)
(True, False)
>>> is_after("http://a.example/events/2047-03/", 2028), is_after("http://a.example/events/1912/03/", 2028)
(True, False)
"""

from __future__ import annotations

import re
from collections import Counter

_LAST = 2200  # a calendar comes to no year behind this but by years before it: so large a number is something else
_dates = re.compile(
    r"[/=_.-](2[01]\d\d)[/_.-](?:0?[1-9]|1[0-2])(?![0-9A-Za-z])"  # a year and a month, the separators in between
    r"|[?&;](?:year|yr|y|jahr|annee|ano)=(2[01]\d\d)(?!\d)"
    r"|[?&;](?:date|day|month|ym|week|from|start|cal\w{0,8})=(2[01]\d\d)-?(?:0[1-9]|1[0-2])",
    re.IGNORECASE,
)


def repeats(url: str, most: int) -> bool:
    """Does a segment of the path, or the name of a parameter, stand there more often than `most` times?"""
    path, _, query = url.partition("?")
    if path.count("/") - 2 > most:
        segments = Counter(path.split("/")[3:])
        del segments[""]
        if segments and max(segments.values()) > most:
            return True
    if query.count("=") > most:
        names = Counter(part.partition("=")[0] for part in query.replace(";", "&").split("&"))
        return max(names.values()) > most
    return False


def is_after(url: str, year: int) -> bool:
    """Is there a date in it that lies behind a year?"""
    return any(year < int(next(filter(None, found.groups()))) < _LAST for found in _dates.finditer(url))
