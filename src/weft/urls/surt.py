"""The key under which replay looks a URL up. In: a URL in normal form. Out: its SURT.

A SURT (sort-friendly URI reordering transform) has the host name turned round, so that a sorted index holds a
domain's pages side by side. It is also blurred, so that a page is found under other spellings than the one it was
fetched by: the scheme, ``www.`` and its numbered kin, the case, session identifiers, the order of the query's
parameters and the slash at the end do not count. The rules are those of the Internet Archive's canonicaliser, which
pywb and the CDXJ indexers use; a key that differs in one character is a page that replay does not find.

Only hosts with an empty label (``a..b``) may get another key there. No resolver takes such a name, so none of its
pages is ever stored.

>>> surt("https://www.example.org:8080/B//a/?y=2&X=1")
'org,example:8080)/b/a?x=1&y=2'
>>> surt("http://example.org/%E2%82%AC%26?PHPSESSID=0123456789abcdef0123456789abcdef")
'org,example)/%e2%82%ac&'
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

# Of the triplets that a normal form can hold, these come out as they went in: what they stand for is encoded again.
_changing_triplet = re.compile(r"%(?!20|23|7F|[0189A-F][0-9A-F])").search
_ESCAPES = {octet: f"%{octet:02X}" for octet in range(256) if not 0x20 < octet < 0x7F or octet in b"#%"}

_numbered_www = re.compile(r"www[0-9]*\.").match

# What follows is asked of texts in lower case. Each is tried once, in this order, and takes away the last place
# that fits: a key must come out as it does elsewhere, and so must not be better.
_PATH_SESSIONS = tuple(
    re.compile(rf"(.*/)\({session}\)/([^?]+\.aspx.*)") for session in (r"(?:[a-z]\([0-9a-z]{24}\))+", r"[0-9a-z]{24}")
)
_QUERY_SESSIONS = tuple(
    re.compile(rf"(.*){session}(?:&(.*))?")
    for session in (
        r"jsessionid=[0-9a-z]{32}",
        r"phpsessid=[0-9a-z]{32}",
        r"sid=[0-9a-z]{32}",
        r"aspsessionid[a-z]{8}=[a-z]{24}",
        r"cfid=[^&]+&cftoken=[^&]+",
    )
)


def surt(url: str) -> str:
    """The key of a URL.

    >>> surt("http://192.0.2.1/"), surt("http://[2001:db8::1]/?"), surt("http://example.org/a?b&b=&a=1&b=0")
    ('1,2,0,192)/', '2001:db8::1)/', 'org,example)/a?a=1&b&b=&b=0')
    """
    start = 8 if url[4] == "s" else 7
    slash = url.index("/", start)
    path, _, query = url[slash:].partition("?")
    if "%" in url and _changing_triplet(url):
        path, query = _unescaped(path), _unescaped(query)
    if "//" in path or "/." in path:
        path = _resolved(path)
    path = path.lower()
    if ".aspx" in path and ")/" in path:
        path = _without_sessions(path, _PATH_SESSIONS)
    if path[-1] == "/" and path != "/":
        path = path[:-1]
    if query:
        query = _ordered(query.lower())
    return f"{_turned(url[start:slash])}{path}?{query}" if query else _turned(url[start:slash]) + path


@lru_cache(maxsize=65536)
def _turned(site: str) -> str:
    """A site as keys begin.

    >>> _turned("www2.example.org"), _turned("www.org"), _turned("[::1]:8080")
    ('org,example)', 'org)', '::1:8080)')
    """
    host, port = site, ""
    if ":" in site and site[-1] != "]":
        host, _, port = site.rpartition(":")
    if found := _numbered_www(host):
        host = host[found.end() :]
    name = ",".join(reversed(host.strip("[]").split(".")))
    return f"{name}:{port})" if port and port != "0" else f"{name})"  # elsewhere 0 is no port


def _unescaped(text: str) -> str:
    """The text with every triplet decoded, and those that this brings forth too, and what must be encoded again.

    >>> _unescaped("%25252F%23%C3%A9%")
    '/%23%C3%A9%25'
    """
    if "%" not in text:
        return text
    octets = text.encode()
    while b"%" in octets and (decoded := unquote_to_bytes(octets)) != octets:
        octets = decoded
    return octets.decode("latin-1").translate(_ESCAPES)


def _resolved(path: str) -> str:
    """The path without empty segments and dot segments; one that leads out of the root stays.

    >>> _resolved("/a//./b/../c//"), _resolved("/../a/.")
    ('/a/c/', '/../a')
    """
    kept: list[str] = []
    for segment in path[1:].split("/"):
        if segment == ".." and kept:
            kept.pop()
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join([*filter(None, kept[:-1]), *kept[-1:]])


def _ordered(query: str) -> str:
    """The query without session identifiers, sorted by names and then by values."""
    if "sid=" in query or "sessionid" in query or "cfid=" in query:
        query = _without_sessions(query, _QUERY_SESSIONS)
    if "&" in query:
        pairs = [pair.partition("=") for pair in query.split("&")]
        pairs.sort()
        query = "&".join(map("".join, pairs))
    return query


def _without_sessions(text: str, sessions: tuple[re.Pattern[str], ...]) -> str:
    for session in sessions:
        if found := session.fullmatch(text):
            text = found[1] + (found[2] or "")
    return text
