"""Cookies, per site. In: Set-Cookie lines and the time. Out: the Cookie line for a request.

A site's cookies stay with the site: the Domain attribute is not used to spread them, so no site is told what
another one set. A server that keeps its session in a cookie stops writing session ids into its links (P3 5.4).
All are bounded, as in browsers (RFC 6265, 6.1): a cookie, the number of them, what they take together, and the line
that is sent.

>>> jar = Jar()
>>> jar.store(["id=7; Path=/; Max-Age=60", "other=x; Path=/shop"], 0.0)
>>> jar.header("/index.html", secure=False, now=10.0)
'id=7'
"""

from __future__ import annotations

import email.utils

import msgspec

MOST = 50  # cookies of one site
LONGEST = 4096  # characters of one cookie, its name and value
LONGEST_PATH = 1024  # characters; a longer one is as good as none
LARGEST = 16_384  # characters of all cookies of one site
_LITTLE = 3600.0  # seconds
LONGEST_LINE = 8_190  # characters of a Cookie line; servers refuse longer ones


class Cookie(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One cookie as it is kept: what is sent back, where to, and until when."""

    value: str = ""
    path: str = "/"
    secure: bool = False
    until: float = 0.0  # wall time


class Jar:
    """The cookies of one site; the site owns it, and it is stored with the site's state.

    Neither one cookie nor all together are larger than the bounds above.
    """

    __slots__ = ("changed", "cookies")

    def __init__(self, cookies: dict[str, Cookie] | None = None) -> None:
        self.cookies = cookies or {}
        self.changed = False  # since whoever writes it down did so

    def store(self, lines: list[str], now: float) -> None:
        """Take in Set-Cookie lines."""
        for line in lines:
            name, cookie = _read(line, now)
            if not name:
                continue
            if cookie.until <= now:
                self.changed |= self.cookies.pop(name, None) is not None
                continue
            if not self._has_room(name, cookie):  # those that have run out make room
                self.cookies = {other: held for other, held in self.cookies.items() if held.until > now}
            if self._has_room(name, cookie):
                self.changed |= name not in self.cookies or _differs(self.cookies[name], cookie)
                self.cookies[name] = cookie

    def _has_room(self, name: str, cookie: Cookie) -> bool:
        others = [_size(other, held) for other, held in self.cookies.items() if other != name]
        return len(others) < MOST and sum(others) + _size(name, cookie) <= LARGEST

    def header(self, target: str, *, secure: bool, now: float) -> str:
        """The value of the Cookie header for a request, or ""."""
        line = "; ".join(
            f"{name}={cookie.value}"
            for name, cookie in self.cookies.items()
            if cookie.until > now and (secure or not cookie.secure) and _covers(cookie.path, target)
        )
        # Cookies that came first are those that matter; one that does not fit is left out with those behind it.
        return line if len(line) <= LONGEST_LINE else line[: line.rfind("; ", 0, LONGEST_LINE + 1)]


def _differs(held: Cookie, cookie: Cookie) -> bool:
    """Is a cookie another one than before? Many are the same, sent again to last a little longer."""
    same = (held.value, held.path, held.secure) == (cookie.value, cookie.path, cookie.secure)
    return not same or abs(held.until - cookie.until) > _LITTLE


def _size(name: str, cookie: Cookie) -> int:
    return len(name) + len(cookie.value) + len(cookie.path)


def _covers(path: str, target: str) -> bool:
    if path == "/":
        return True
    return target.startswith(path) and (path[-1] == "/" or target[len(path) : len(path) + 1] in ("", "/", "?"))


def _read(line: str, now: float) -> tuple[str, Cookie]:
    pair, *attributes = line[: LONGEST * 2].split(";")
    name, equals, value = pair.partition("=")
    name, value = name.strip(), value.strip()
    path, secure, until = "/", False, float("inf")
    aged = False
    for attribute in attributes:
        key, _, text = attribute.partition("=")
        key, text = key.strip().lower(), text.strip()
        if key == "path" and text.startswith("/") and len(text) <= LONGEST_PATH:
            path = text
        elif key == "secure":
            secure = True
        elif key == "max-age" and text.removeprefix("-").isdecimal():
            until, aged = now + min(int(text[:12]), 10**9), True
        elif key == "expires" and not aged:
            parsed = email.utils.parsedate_tz(text)
            if parsed is not None:
                try:
                    until = float(email.utils.mktime_tz(parsed))
                except (OverflowError, ValueError):
                    continue
    bad = not equals or not name or len(pair) > LONGEST or any(not 32 <= ord(character) <= 126 for character in pair)
    return ("" if bad else name), Cookie(value, path, secure, until)
