"""Answers that are small on the wire and large when they are decoded."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import cache

import brotli
import zstandard

from weft.testbed.answers import HTML, Answer, plain_answer
from weft.testbed.scenarios.scenario import Ask, Scenario, number_in, page

EXPANDED = 64 << 20
"""Bytes of a bomb after it is decoded."""

_BLOCK = b"<p>and so on, and so on</p>\n" * (1 << 15)
_COUNT = 3


def _blocks() -> Iterable[bytes]:
    return (_BLOCK for _ in range(-(-EXPANDED // len(_BLOCK))))


def _gzip(blocks: Iterable[bytes], level: int = 6) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, 31)
    return b"".join([packer.compress(block) for block in blocks] + [packer.flush()])


@cache
def bomb(coding: str) -> bytes:
    """The bytes of a bomb in a content coding; `nested` is gzip in gzip in gzip."""
    if coding == "br":
        packer = brotli.Compressor(quality=4)
        return b"".join([packer.process(block) for block in _blocks()] + [packer.finish()])
    if coding == "zstd":
        made = zstandard.ZstdCompressor(level=3).compressobj()
        return b"".join([made.compress(block) for block in _blocks()] + [made.flush()])
    once = _gzip(_blocks())
    return once if coding == "gzip" else _gzip([_gzip([once], 9)], 9)


def _scenario(name: str, coding: str, header: bytes, about: str) -> Scenario:
    """A bomb of one kind."""
    prefix = f"/{name}/".encode()

    def answer(ask: Ask) -> Answer:
        """The bomb, whatever the client says it accepts."""
        if not 0 <= number_in(ask.path, prefix, b".html") < _COUNT:
            return plain_answer(404, name)
        return page(name, bomb(coding), HTML + b"Content-Encoding: %b\r\n" % header)

    return Scenario(
        name=name,
        about=about,
        source="RFC 9110 8.4; Scrapy's DOWNLOAD_MAXSIZE; docs/attacks.md H2",
        family="bytes",
        prefix=prefix,
        links=lambda _: [f"/{name}/{number}.html" for number in range(_COUNT)],
        answer=answer,
    )


BOMBS = (
    _scenario("bomb-gzip", "gzip", b"gzip", "200 kB of gzip that are 64 MB"),
    _scenario("bomb-br", "br", b"br", "some hundred bytes of brotli that are 64 MB"),
    _scenario("bomb-zstd", "zstd", b"zstd", "some kB of zstd that are 64 MB"),
    _scenario("bomb-nested", "nested", b"gzip, gzip, gzip", "less than a kB of gzip in gzip in gzip that are 64 MB"),
)
