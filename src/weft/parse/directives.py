"""What a page asks of robots, in its meta tag or the X-Robots-Tag header.

>>> read_directives("noindex, nofollow").follow
False
>>> header_directives("otherbot: nofollow, weft: none", "weft").follow
False
>>> header_directives("otherbot: nofollow", "weft").follow
True
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

_ALLOWED = frozenset(("", "all", "index", "follow", "archive"))  # what is so anyway
_NONE = ("noindex", "nofollow")  # what "none" means
_FIRST = frozenset(("noarchive", "nofollow", "noindex"))
_LONGEST = 200  # characters of all directives together
_MOST = 20  # directives: a page may have any number of meta tags
_SHORT = 200  # of a text that is worth remembering


class Directives(msgspec.Struct, frozen=True, gc=False):
    """What is asked of robots: words in small letters, each once, sorted; first those by which something is decided.
    What is allowed anyway (all, index, follow) is none of them, and there are at most twenty, of 200 characters each.
    """

    words: tuple[str, ...] = ()

    @property
    def follow(self) -> bool:
        """May links be followed?"""
        return "nofollow" not in self.words

    @property
    def text(self) -> str:
        """As the columns have it. Words beyond 200 characters are left out.

        >>> read_directives("max-snippet:-1, none").text
        'nofollow,noindex,max-snippet:-1'
        """
        text = ",".join(self.words)
        return text if len(text) <= _LONGEST else text[: _LONGEST + 1].rpartition(",")[0]

    def and_also(self, other: Directives) -> Directives:
        """Both at once: a no is a no."""
        if not other.words:
            return self
        return _sorted({*self.words, *other.words}) if self.words else other


NOTHING_ASKED = Directives()


def _sorted(words: set[str]) -> Directives:
    short = [word for word in words if len(word) <= _LONGEST]
    return Directives(tuple(sorted(short, key=lambda word: (word not in _FIRST, word))[:_MOST]))


def asks_not_to_be_kept(text: str) -> bool:
    """Is `noarchive` among directives, as the columns have them?

    >>> asks_not_to_be_kept("noarchive,nofollow"), asks_not_to_be_kept("x-noarchive")
    (True, False)
    """
    return "noarchive" in text.split(",")


def read_directives(content: str) -> Directives:
    """Read the content of a robots meta tag."""
    return _known(content) if len(content) <= _SHORT else _read(content)


def _read(content: str) -> Directives:
    words = {" ".join(word.split()).lower() for word in content.replace(";", ",").split(",")} - _ALLOWED
    if not words:
        return NOTHING_ASKED
    if "none" in words:
        words.remove("none")
        words.update(_NONE)
    return _sorted(words)


_known = lru_cache(maxsize=256)(_read)  # most pages say the same


def head_directives(head: bytes, agent: str) -> Directives:
    r"""Read every X-Robots-Tag of an answer's header; whom one line addresses says nothing of the next.

    >>> head_directives(b"HTTP/1.1 200 OK\nX-Robots-Tag: otherbot: none\nX-Robots-Tag: nofollow\n\n", "weft").follow
    False
    """
    directives = NOTHING_ASKED
    for line in head.decode("latin-1").split("\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "x-robots-tag":
            directives = directives.and_also(header_directives(value, agent))
    return directives


def header_directives(value: str, agent: str) -> Directives:
    """Read one X-Robots-Tag line, whose parts may be addressed to one robot by name."""
    if not value:
        return NOTHING_ASKED
    mine = True
    words = []
    for part in value.split(","):
        name, colon, rest = part.partition(":")
        if colon and name.strip().lower() not in (
            "unavailable_after",
            "max-snippet",
            "max-image-preview",
            "max-video-preview",
        ):
            mine = name.strip().lower() in (agent, "*")
            part = rest  # noqa: PLW2901
        if mine:
            words.append(part)
    return read_directives(",".join(words))
