"""What a page asks of robots, in its meta tag or the X-Robots-Tag header.

>>> read_directives("noindex, nofollow").follow
False
>>> header_directives("otherbot: nofollow, weft: none", "weft").follow
False
>>> header_directives("otherbot: nofollow", "weft").follow
True
"""

from __future__ import annotations

import msgspec


class Directives(msgspec.Struct, frozen=True, gc=False):
    """Asked of robots: may the links be followed, may the page be indexed, may it be kept."""

    follow: bool = True
    index: bool = True
    archive: bool = True

    def and_also(self, other: Directives) -> Directives:
        """Both at once: a no is a no."""
        return Directives(self.follow and other.follow, self.index and other.index, self.archive and other.archive)


NOTHING_ASKED = Directives()


def read_directives(content: str) -> Directives:
    """Read the content of a robots meta tag."""
    words = {word.strip().lower() for word in content.replace(";", ",").split(",")}
    if not words & {"nofollow", "none", "noindex", "noarchive"}:
        return NOTHING_ASKED
    none = "none" in words
    return Directives(
        follow=not (none or "nofollow" in words),
        index=not (none or "noindex" in words),
        archive="noarchive" not in words,
    )


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
