"""A request that is more than a URL. In: what an application asks for. Out: how a page is to be asked for.

A request has headers of its own, is a POST with a body, or is not to be sent before a time; or the application wants to
know it again: by a value that comes back with it, or by who of several asked for it.
"""

from __future__ import annotations

import msgspec
from xxhash import xxh3_64_intdigest

from weft.model import NO_ID, UrlId


class Special(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a page is asked for, where that is not just by its URL."""

    headers: dict[str, str] = {}
    body: bytes | None = None  # None for GET
    repeat: bool = False  # it may be sent again when its outcome is unknown
    after: UrlId = NO_ID  # the id of the POST whose answer led to it, where the page was known already
    meta: bytes = b""  # what comes back to the application with it, encoded
    owners: int = -1  # a bit for each of several applications that asked for it; -1: all of them
    due: float = 0.0  # wall time before which it is not asked for

    @property
    def once(self) -> bool:
        """Must it not be sent twice?"""
        return self.body is not None and not self.repeat

    @property
    def secret(self) -> bool:
        """Is there anything in it that is sent in confidence?"""
        return bool(self.headers) or self.body is not None

    def led_to(self) -> Special | None:
        """What is known of where a redirect of it leads: who wants it, and what comes back with it; None: nothing."""
        return Special({}, None, repeat=True, meta=self.meta, owners=self.owners) if self.is_known_again else None

    @property
    def is_known_again(self) -> bool:
        """Does an application want to know it again?"""
        return bool(self.meta) or self.owners != -1

    def name(self, url: str) -> bytes:
        """What tells the request from others: a GET is its URL, whatever its headers; else all of it counts."""
        if self.body is None and not self.after:
            return url.encode()
        what = b"POST " if self.body is not None else b"GET "
        return b"%s%s\n%x\n%s" % (what, url.encode(), self.after, self.body or b"")

    def id(self, url: str) -> UrlId:
        """What the request is called in columns: for a GET it is the URL's fingerprint."""
        return UrlId(xxh3_64_intdigest(self.name(url)))


ORDINARY = Special({}, None, repeat=True)
"""Nothing but a URL."""


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Special).decode
"""A `Special` that was encoded."""
