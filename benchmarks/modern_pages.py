"""Pages as large as today's: the testbed's, and in each a style sheet and scripts with data, three times as long.

What makes pages large is mostly not their elements: half of all pages have fewer than 700, while their text with
everything that is written into it (styles, scripts, data for scripts) goes into the hundreds of kilobytes. A page of
the testbed of 240 KB would have 7,000. So a page here is one of 60 KB (1,600 elements, 150 of them links) with 180 KB
of such text.

`serving` is the testbed's own, with these pages: `python -m benchmarks.modern_pages` is the process it starts.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from weft.testbed import bed
from weft.testbed.pages import Pages
from weft.testbed.serve import ServerSettings
from weft.testbed.web import Web

TIMES = 4  # as large as the page it is made of
_IN_STYLE = 0.2  # of what is added
_POOL = 4_000_000  # bytes of text to cut from
_WORDS = (
    *("id", "url", "name", "type", "price", "title", "image", "author", "offers", "content", "visible", "position"),
    *("description", "breadcrumb", "availability", "dateModified", "itemListElement", "aggregateRating"),
)
_RULES = ("margin", "padding", "color", "font-size", "line-height", "display", "flex", "grid-area", "border-radius")


def _data(chance: random.Random) -> bytes:
    """Data for scripts, without an end; no "<" is in it."""
    pieces: list[str] = []
    size = 0
    while size < _POOL:
        word = chance.choice(_WORDS)
        kind = chance.random()
        if kind < 0.4:
            value = f'"{" ".join(chance.choices(_WORDS, k=chance.randrange(1, 12)))}"'
        elif kind < 0.6:
            value = f'"https://cdn.example.com/{word}/{chance.getrandbits(64):016x}.{chance.choice(("js", "webp"))}"'
        elif kind < 0.9:
            value = str(chance.randrange(1, 10 ** chance.randrange(1, 9)))
        else:
            value = f'[{{"@type":"{chance.choice(_WORDS)}","{chance.choice(_WORDS)}":{chance.randrange(1000)}}}]'
        pieces.append(f'"{word}":{value},')
        size += len(pieces[-1])
    return "".join(pieces).encode()


def _styles(chance: random.Random) -> bytes:
    pieces: list[str] = []
    size = 0
    while size < _POOL // 4:
        rules = (f"{chance.choice(_RULES)}:{chance.randrange(1, 64)}px" for _ in range(chance.randrange(1, 6)))
        pieces.append(f".c{chance.getrandbits(24):06x} .{chance.choice(_WORDS)}{{{';'.join(rules)}}}")
        size += len(pieces[-1])
    return "".join(pieces).encode()


class LargePages(Pages):
    """Renders the pages of a web, and adds to them."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        chance = random.Random(1)
        self._data, self._styles = _data(chance) * 2, _styles(chance) * 2

    def body(self, page: int) -> bytes:
        """The HTML of a page."""
        small = super().body(page)
        more = (TIMES - 1) * len(small)
        styles, data = int(_IN_STYLE * more), int((1 - _IN_STYLE) * more)
        first, second = page * 7919 % (len(self._styles) // 2), page * 104_729 % (len(self._data) // 2)
        head, end_of_head, rest = small.partition(b"</head>")
        rest, end_of_body, tail = rest.rpartition(b"</body>")
        return b"".join(
            (
                *(head, b"<style>", self._styles[first : first + styles], b"</style>\n", end_of_head, rest),
                *(b'<script type="application/json">{', self._data[second : second + data], b'"page":%d}' % page),
                *(b"</script>\n", end_of_body, tail),
            )
        )


@contextlib.contextmanager
def serving(web: Web, settings: ServerSettings) -> Iterator[bed.Bed]:
    """Serve a web with large pages in a child process while the block runs."""

    def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        words = ["benchmarks.modern_pages" if word == "weft.testbed" else word for word in command]
        return subprocess.Popen(words, **options)

    setattr(bed, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": start}))  # noqa: B010
    try:
        with bed.serving(web, settings) as served:
            yield served
    finally:
        setattr(bed, "subprocess", subprocess)  # noqa: B010


if __name__ == "__main__":
    import weft.testbed.web

    setattr(weft.testbed.web, "Pages", LargePages)  # noqa: B010
    bed.child_main()
