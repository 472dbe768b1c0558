"""What of a site and of its robots.txt files outlives the process: keyed values, which can grow."""

from __future__ import annotations

import msgspec

from weft.fetch.cookies import Cookie

_encode = msgspec.msgpack.Encoder().encode


class RobotsRecord(msgspec.Struct, omit_defaults=True):
    """A robots.txt as it was had: when, and what it said; `body` is None where there is none, and all is allowed."""

    fetched_at: float = 0.0  # wall time
    body: bytes | None = None
    delay: float = 0.0  # the crawl-delay that it asks of
    agent: str = ""  # the one with this product token; "": nobody looked


_COMPRESSED = b"\x28\xb5\x2f\xfd"  # how what zstd made begins; a record begins otherwise
_SMALL = 1024  # bytes of a record that is kept as it is
_record = msgspec.msgpack.Decoder(RobotsRecord).decode


def packed_robots(record: RobotsRecord) -> bytes:
    """A robots.txt as it is written down: compressed where it is large.

    >>> len(packed_robots(RobotsRecord(0.0, b"Disallow: /a " * 40_000))) < 100
    True
    """
    data = _encode(record)
    if len(data) < _SMALL:
        return data
    import zstandard  # who only reads settings needs it not

    return zstandard.ZstdCompressor(level=3).compress(data)


def unpacked_robots(data: bytes) -> RobotsRecord:
    """A robots.txt that was written down."""
    if data.startswith(_COMPRESSED):
        import zstandard

        data = zstandard.ZstdDecompressor().decompress(data)
    return _record(data)


ASK_AGAIN = -1.0
"""In place of the time when a name was denied: that was long ago."""


class SiteMemory(msgspec.Struct, omit_defaults=True):
    """What is kept of a site across a restart. What is as it was at the beginning takes no room."""

    next_visit: float = 0.0  # wall time before which it is left alone
    took: float = 0.0  # its last download
    address: str = ""  # where it was visited last
    fetched: int = 0  # pages fetched so far
    failures: int = 0  # visits in a row that failed
    strikes: int = 0  # pages that harmed who read them
    set_aside: bool = False
    second_chance: bool = False
    tls: str = ""
    rest: float | None = None  # seconds from when this was written to `next_visit`; it is not known of older ones
    cookies: dict[str, Cookie] = {}  # none where a commit has them for themselves, because they changed
    denied_at: float = 0.0  # wall time when there was no such name; 0: nobody said so
    copies: int = 0  # pages that are copies of others
    share: float = 0.0  # of these among the last hundred, about
    families: dict[str, int] = {}  # of URLs that differ in numbers alone: those in a row that came to nothing new
    doorway: bool = False  # it looks as others of its domain, which has any name
    sent: int = 0  # bytes of contents that came from it
    spent: float = 0.0  # seconds that downloads from it took
    network: str = ""  # where it waited for a place, for who asks why it is not visited

    def left(self, wall: float) -> float:
        """Seconds from this wall time for which it is left alone: never more than when it was written down, whatever
        clock was set meanwhile, or is read now.

        >>> SiteMemory(next_visit=1060.0, rest=60.0).left(1020.0), SiteMemory(next_visit=1060.0, rest=60.0).left(20.0)
        (40.0, 60.0)
        """
        seconds = self.next_visit - wall
        if self.rest is not None and self.rest < seconds:
            return self.rest
        return max(0.0, seconds)


decoded = msgspec.msgpack.Decoder(SiteMemory).decode
_decode_jar = msgspec.msgpack.Decoder(dict[str, Cookie]).decode


def with_cookies(memory: bytes, cookies: bytes) -> bytes:
    """What is kept of a site, with its cookies; all of them encoded."""
    return _encode(msgspec.structs.replace(decoded(memory), cookies=_decode_jar(cookies)))
