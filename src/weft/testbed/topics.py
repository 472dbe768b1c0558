"""What pages of a topic say. In: the topic of each page. Out: words of it in titles, texts, links and URLs.

Words follow from the number of the topic alone, so that what is learnt on one web holds on another. A page has five to
thirty of its topic, and up to three of another one. Half the URLs have one, and so does what six in ten links say. So
what a page is about is known, and a crawler must still find it out.

>>> words(3)[:2] == words(3)[:2] != words(4)[:2], len(set(words(3)))
(True, 40)
"""

from __future__ import annotations

import random
import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

from weft.testbed.dice import Dice
from weft.testbed.links import GONE, MOVED, Scene, codes_of

IN_URL, IN_LINK = 0.5, 0.6
"""Shares of the pages whose URL, and of the links whose text, has a word of the topic."""

_MANY = 40  # words of a topic
_SYLLABLES = re.findall("...", "bracledrufengolhibjurkellommurneposkpirquarolstitovulmverwixyanzor")
_link = re.compile(rb"<a [^>]*>")


@cache
def words(topic: int) -> tuple[str, ...]:
    """The words of a topic, the most frequent first."""
    chance = random.Random(f"topic/{topic}")
    found: dict[str, None] = {}
    while len(found) < _MANY:
        found["".join(_SYLLABLES[int(chance.random() * len(_SYLLABLES))] for _ in range(4))] = None
    return tuple(found)


class TopicWords:
    """Writes the words of topics into the pages of a web, which owns it."""

    def __init__(self, topics: NDArray[np.int32], count: int, seed: int) -> None:
        self.topics = topics
        """The topic of each page."""
        self._count = count
        pages = np.arange(len(topics))
        self._texts = Dice(seed, "topic-text").many(pages)
        self._links = Dice(seed, "topic-link")
        self._in_url = Dice(seed, "topic-url").shares(pages) < IN_URL

    def __repr__(self) -> str:
        return f"TopicWords({self._count} topics of {len(self.topics)} pages)"

    def name(self, page: int) -> bytes:
        """What a page is called in its path; empty if it has a name like any other."""
        return self._some(page, 1, 0).encode() if self._in_url[page] else b""

    def dressed(self, scene: Scene, page: int, body: bytes) -> bytes:
        """A page with the words of its topic, and with those of what it links to in its links."""
        body = body.replace(b"<title>", b"<title>%b " % self._some(page, 2, 1).encode(), 1)
        body = body.replace(b"</h1>\n", b"</h1>\n<p>%b.</p>\n" % self._text(page).encode(), 1)
        codes = iter(codes_of(scene, page))
        return _link.sub(lambda found: found[0] + self._said(page, next(codes)), body)

    def _said(self, page: int, code: int) -> bytes:
        """What a link says of what it leads to, beside its usual text."""
        target = code % MOVED
        draw = self._links.one((page << 24) ^ target)
        if code >= GONE or draw % 1000 >= 1000 * IN_LINK:
            return b""
        return b"%b " % self._some(target, 1 + (draw >> 20) % 2, 2 + (draw >> 24) % 50).encode()

    def _text(self, page: int) -> str:
        draw = int(self._texts[page])
        other = self._words((draw >> 8) % self._count, draw % 4, page)
        return f"{self._some(page, 5 + (draw >> 4) % 26, 100)} {other}"

    def _some(self, page: int, many: int, which: int) -> str:
        """Words of a page's topic."""
        return self._words(int(self.topics[page]), many, int(self._texts[page]) + which)

    def _words(self, topic: int, many: int, start: int) -> str:
        chance, known = random.Random(start), words(topic)
        return " ".join(known[int(chance.random() ** 2 * _MANY)] for _ in range(many))
