"""Signs of a trap in a URL. In: a URL in normal form. Out: does it look like one of those that have no end?

A trap makes new URLs from old ones: a relative link that is taken for one of the folder below (`/a/b/a/b/a/b/`), a
parameter that is added once more, a calendar whose next month is always there (P3, section 3.4; Heritrix refuses
repeated segments too). Real URLs do so now and then: the limits are settings.

>>> repeats("http://a.example/x/y/x/y/x/y/x/y/", 3), repeats("http://a.example/x/y/x/", 3)
(True, False)
>>> is_after("http://a.example/events/2047-03/", 2028), is_after("http://a.example/events/1912/03/", 2028)
(True, False)
>>> family_of("http://a.example/shop/item.php?id=7&lang=es"), family_of("http://a.example/map-12.xml")
('/shop/item.php?id&lang', '/map-#.xml')
>>> absurd_url("http://a.example/old/page.html", 255), absurd_url("http://a.example/item.php?id=7", 255)
('http://a.example/old/00000000000000ff.html', 'http://a.example/item.php?id=00000000000000ff')
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
# Any of these has a year behind such a sign. What begins with a digit is found in a tenth of the time.
_years = re.compile(r"2[01]\d\d(?<=[/=_.-]\d{4})").search
_numbers = re.compile(r"(?<![A-Za-z])[0-9a-f]{8,}|\d+")


def repeats(url: str, most: int) -> bool:
    """Does what a path ends with, its last folder or its file, stand in it more often than `most` times, or the name of
    a parameter in the query? A trap repeats what it ends with, and the rest need not be looked at.
    """
    if "?" in url:
        url, _, query = url.partition("?")
        if query.count("=") > most:
            names = Counter(part.partition("=")[0] for part in query.replace(";", "&").split("&"))
            if max(names.values()) > most:
                return True
    if url.count("/") <= most + 2:
        return False
    before, folder, name = url.rsplit("/", 2)
    if folder != name and folder not in before and not (name and name in before):  # as of nearly all
        return False
    segments = url.split("/")[3:]
    return (folder != "" and segments.count(folder) > most) or (name != "" and segments.count(name) > most)


def is_after(url: str, year: int) -> bool:
    """Is there a date in it that lies behind a year?"""
    if _years(url) is None:
        return False
    return any(year < int(next(filter(None, found.groups()))) < _LAST for found in _dates.finditer(url))


def family_of(url: str) -> str:
    """What a URL has in common with others of its site that differ in numbers, or in what parameters say, alone."""
    path, _, query = url[url.index("/", 8) :].partition("?")
    path = _numbers.sub("#", path)
    return f"{path}?{'&'.join(part.partition('=')[0] for part in query.split('&'))}" if query else path


def absurd_url(url: str, draw: int) -> str:
    """A URL beside another one that nobody can have made: who has a page there has one anywhere."""
    if "=" in url.partition("?")[2]:
        return f"{url[: url.rindex('=')]}={draw:016x}"
    folder, _, name = url.partition("?")[0].rpartition("/")
    dot = name.rfind(".")
    return f"{folder}/{draw:016x}{name[dot:] if dot > 0 else ''}"
