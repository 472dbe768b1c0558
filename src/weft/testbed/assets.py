"""What pages embed: images, style sheets, scripts. In: a site and a path. Out: the file; markup that asks for it.

Every site has some of each under `/assets/`; a page takes a few, one of them from another site. Images are
real ones of a few kilobytes.
"""

from __future__ import annotations

import re
import struct
import zlib

from weft.testbed.answers import Answer
from weft.testbed.dice import Dice

IMAGES = 12
"""Images of each site; each in one size and in twice that size."""

_ASSET = re.compile(rb"/assets/(img|style|app|logo)-([0-9]{1,3})(-2x)?\.(png|svg|css|js)\Z")
_TYPES = {
    b"png": b"Content-Type: image/png\r\n",
    b"svg": b"Content-Type: image/svg+xml\r\n",
    b"css": b"Content-Type: text/css\r\n",
    b"js": b"Content-Type: text/javascript\r\n",
}


class Assets:
    """The files that the pages of a web embed."""

    def __init__(self, seed: int, bases: list[bytes]) -> None:
        self._bases = bases
        self._dice = Dice(seed, "assets")

    def markup(self, site: int, page: int) -> tuple[bytes, bytes]:
        """What goes into a page's head, and what before its text."""
        draw = self._dice.one(page)
        first, second, third = draw % IMAGES, (draw >> 8) % IMAGES, (draw >> 16) % IMAGES
        other = self._bases[(draw >> 24) % len(self._bases)]
        head = b'<link rel="stylesheet" href="/assets/style-%d.css">\n<script src="/assets/app-%d.js"></script>\n'
        body = (
            b'<figure><img src="/assets/img-%d.png" alt="" '
            b'srcset="/assets/img-%d.png 1x, /assets/img-%d-2x.png 2x"></figure>\n'
            b'<picture><source srcset="/assets/logo-%d.svg" type="image/svg+xml">'
            b'<img src="/assets/img-%d.png" alt=""></picture>\n<img src="%b/assets/img-%d.png" alt="">\n'
        )
        return head % (site % 3, site % 2), body % (first, first, first, site % 4, second, other, third)

    def requisites(self, site: int, page: int) -> list[str]:
        """The addresses a page's own markup asks for, in order, absolute."""
        here = self._bases[site].decode()
        found = re.findall(rb'(?:href|src|srcset)="([^"]+)"', b"".join(self.markup(site, page)))
        paths = [word.split()[0].decode() for text in found for word in text.split(b", ")]
        return list(dict.fromkeys(path if "//" in path else here + path for path in paths))

    def answer(self, site: int, path: bytes) -> Answer | None:
        """The file with this path; None if there is none."""
        found = _ASSET.match(path)
        if found is None:
            return None
        name, digits, double, ending = found.groups()
        number = int(digits)
        if name == b"img" and ending == b"png" and number < IMAGES:
            return _file(ending, _png(self._dice.one((site << 20) + number), 48 if double else 24))
        if double is not None:
            return None
        if name == b"logo" and ending == b"svg" and number < 4:
            text = b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle r="%d"/></svg>\n'
            return _file(ending, text % (number + site % 15 + 1))
        if name == b"style" and ending == b"css" and number < 4:
            return _file(ending, _style(site, number))
        if name == b"app" and ending == b"js" and number < 2:
            return _file(ending, b'"use strict";\nfunction ready%d(){return %d;}\n' % (number, site) * 40)
        return None


def _file(ending: bytes, content: bytes) -> Answer:
    return Answer(200, "asset", _TYPES[ending], content)


def _style(site: int, number: int) -> bytes:
    """A style sheet; the first three import the fourth and name an image."""
    rules = b"".join(b".c%d-%d{padding:%dpx;color:#%06x}\n" % (site, i, i % 9, i * 40503) for i in range(60))
    if number == 3:
        return rules
    image = b'.hero{background:url("img-%d.png") no-repeat}\n' % (number + 3)
    return b'@import url("style-3.css");\n' + image + rules


def _png(seed: int, side: int) -> bytes:
    """An image of coloured noise."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    dice = Dice(seed, "png")
    row = 3 * side // 8 + 1
    noise = [b"".join(dice.one(y * row + x).to_bytes(8, "little") for x in range(row)) for y in range(side)]
    pixels = b"".join(b"\0" + line[: 3 * side] for line in noise)
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    end = chunk(b"IDAT", zlib.compress(pixels, 1)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + end
