r"""Content encodings. In: a body and what the client accepts. Out: the body as it is sent, and its header.

>>> encoded(b"x" * 100, b"gzip;q=0, br", 5)[0]
b'Content-Encoding: br\r\nVary: Accept-Encoding\r\n'
>>> encoded(b"hello", b"identity", 5)
(b'', b'hello')
"""

from __future__ import annotations

from functools import lru_cache

import brotli
import zstandard
from isal import igzip, isal_zlib

_KNOWN = (b"gzip", b"deflate", b"br", b"zstd")


@lru_cache(maxsize=1000)
def accepted(header: bytes) -> tuple[bytes, ...]:
    """The encodings we know that an Accept-Encoding header (in lower case) allows."""
    allowed = []
    for item in header.split(b","):
        name, _, weight = item.strip().partition(b";")
        if name.strip() in _KNOWN and weight.replace(b" ", b"") not in {
            b"q=0",
            b"q=0.0",
            b"q=0.00",
            b"q=0.000",
        }:
            allowed.append(name.strip())
    return tuple(allowed)


def encoded(body: bytes, header: bytes, draw: int) -> tuple[bytes, bytes]:
    """One of the accepted encodings, chosen by the draw: its header lines and the body in it."""
    names = accepted(header)
    if not names:
        return b"", body
    name = names[draw % len(names)]
    if name == b"gzip":
        body = igzip.compress(body, 1, mtime=0)
    elif name == b"deflate":
        body = isal_zlib.compress(body, 1)
    elif name == b"br":
        body = brotli.compress(body, quality=1)
    else:
        body = zstandard.compress(body, 1)
    return b"Content-Encoding: %b\r\nVary: Accept-Encoding\r\n" % name, body
