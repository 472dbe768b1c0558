"""From spellings to pages. In: what logs call a page. Out: its canonical URL, or why it has none.

A canonical URL is the normal form of `weft.urls` without the parameters that name a visit instead of a page: session
and tracking parameters, in the query or behind a semicolon in the path. A crawler must not do this (a server may need
them); to count, it must be done, since such a page would be thousands of pages with one view each.

>>> canonical = Canonical(("ref",))
>>> canonical.url("HTTP://a.example:80/b;jsessionid=0A?id=7&utm_source=x&SID=1#top")
'http://a.example/b?id=7'
>>> canonical.url("http://a.example/?PHPSESSID=1&ref=2"), canonical.url("http://a.example/?side=1")
('http://a.example/', 'http://a.example/?side=1')
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from weft.errors import UsageError
from weft.urls import Unusable, normal_form

DROPPED_PARAMETERS = ("sid", "sessionid", "phpsessid", "jsessionid", "utm_*")
"""Always taken out, in letters of either case; a star at the end stands for anything."""

EMBEDDED_EXTENSIONS = (
    *("css", "js", "mjs", "map", "json", "woff", "woff2", "ttf", "otf", "eot"),
    *("png", "jpg", "jpeg", "gif", "ico", "svg", "webp", "avif", "bmp", "cur"),
    *("swf", "mp3", "mp4", "webm", "ogg", "m4s", "ts", "wav"),
)
"""What access logs list beside pages: parts of pages, by the extension."""

# In the syntax of RE2, too: Arrow looks with it at the URLs of a log.
EMBEDDED = rf"(?i)^[^?#]*/[^/?#]+\.(?:{'|'.join(EMBEDDED_EXTENSIONS)})(?:[?#;]|$)"

_name = re.compile(r"[A-Za-z0-9_.\-\[\]%]+\*?").fullmatch


class Canonical:
    """Makes canonical URLs, with more parameters to drop than the usual ones."""

    def __init__(self, more: Sequence[str] = ()) -> None:
        for name in more:
            if not _name(name):
                raise UsageError(f"'{name}' is no name of a parameter", todo="write names like sid or utm_*")
        names = "|".join(_pattern(name) for name in (*DROPPED_PARAMETERS, *more))
        self._suspect = re.compile(rf"[?&;](?:{names})(?:[=&;/?]|\Z)", re.IGNORECASE).search
        self._in_path = re.compile(rf";(?:{names})(?:=[^;/]*)?(?=[;/]|\Z)", re.IGNORECASE)
        self._in_query = re.compile(rf"(?:\A|[&;])(?:{names})(?:=[^&;]*)?(?=[&;]|\Z)", re.IGNORECASE)

    def url(self, text: str) -> str | Unusable:
        """The canonical URL of a text, or why it has none."""
        url = normal_form(text)
        if "?" not in url and ";" not in url:
            return url  # most are, and this is quickly seen
        while not isinstance(url, Unusable) and self._suspect(url):
            shorter = self._without(url)
            if shorter == url:
                break
            url = normal_form(shorter)  # what is left may be a dot segment, or a parameter that was hidden
        return url

    def _without(self, url: str) -> str:
        path, mark, query = url.partition("?")
        path = self._in_path.sub("", path)
        left = self._in_query.sub("", query)
        if left != query:
            left = left.lstrip("&;")
            mark = mark if left else ""
        return f"{path}{mark}{left}"


def _pattern(name: str) -> str:
    return re.escape(name[:-1]) + r"[^=&;/]*" if name.endswith("*") else re.escape(name)
