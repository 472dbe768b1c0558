"""Words and pieces of markup that pages are made from. In: a seed and a charset. Out: a `Pool` of bytes.

A page must look to a parser and to a compressor like a real one: some 44 bytes to a start tag, a fifth to a
quarter of its size after gzip (both as measured on archived pages), letters outside ASCII. Making such text
takes time, so a few hundred pieces of half a kilobyte to one are made once; a page is a row of them, with
its links between.

Invariant: no piece holds a link, an image, a style sheet or a script to fetch; those are added by `pages`
alone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

PIECES, BEFORE, AFTER = 320, 64, 256
"""How many pieces there are, and how many ways to begin and to end a link."""

# Syllables, which words are made from.
_LATIN = (
    *(
        "ba",
        "be",
        "bi",
        "bo",
        "ca",
        "ce",
        "ci",
        "co",
        "da",
        "de",
        "di",
        "do",
        "fa",
        "fi",
        "ga",
        "go",
        "la",
        "le",
    ),
    *(
        "li",
        "lo",
        "ma",
        "me",
        "mi",
        "mo",
        "na",
        "ne",
        "ni",
        "no",
        "pa",
        "pe",
        "pi",
        "po",
        "ra",
        "re",
        "ri",
        "ro",
    ),
    *(
        "sa",
        "se",
        "si",
        "so",
        "ta",
        "te",
        "ti",
        "to",
        "tra",
        "tre",
        "pro",
        "con",
        "men",
        "cia",
        "ría",
        "ción",
    ),
    *("ña", "dad", "tal", "ver", "vi", "vo", "al", "el", "en", "es", "ar", "or", "an", "un"),
)
_CYRILLIC = tuple(chr(0x430 + consonant) + chr(0x430 + vowel) for consonant in (1, 2, 4, 11, 13) for vowel in (0, 5, 8))
_KANA = tuple(chr(code) for code in range(0x3042, 0x3094))

LANGUAGES = {"windows-1251": ("ru", _CYRILLIC), "shift_jis": ("ja", _KANA)}
"""Charsets that are not for Latin letters, with their language."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Pieces in one charset."""

    language: bytes
    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    """`text` cut into pieces, then what stands before the address of a link, then what stands after it."""
    titles: list[bytes]
    """256 short texts."""
    longest: int
    """Bytes of the longest piece."""
    longest_link: int
    """Bytes that stand around an address at most."""


def make_pool(seed: int, charset: str = "utf-8") -> Pool:
    """Make the pieces for one charset, always the same ones for a seed."""
    language, syllables = LANGUAGES.get(charset, ("es", _LATIN))
    writer = _Writer(random.Random(f"{seed}/text"), syllables)
    texts = [writer.piece() for _ in range(PIECES)]
    texts += [writer.before_link() for _ in range(BEFORE)]
    texts += [writer.after_link() for _ in range(AFTER)]
    encoded = [text.encode(charset, "xmlcharrefreplace") for text in texts]
    return Pool(
        language=language.encode(),
        text=np.frombuffer(b"".join(encoded), dtype=np.uint8),
        offsets=np.concatenate([[0], np.cumsum([len(piece) for piece in encoded])]),
        titles=[writer.title().encode(charset, "xmlcharrefreplace") for _ in range(256)],
        longest=max(map(len, encoded[:PIECES])),
        longest_link=max(map(len, encoded[PIECES : PIECES + BEFORE])) + max(map(len, encoded[PIECES + BEFORE :])),
    )


class _Writer:
    """Writes words and elements by chance."""

    def __init__(self, chance: random.Random, syllables: tuple[str, ...]) -> None:
        self._chance = chance
        words = ["".join(self._one_of(syllables) for _ in range(self._between(1, 4))) for _ in range(500)]
        # People repeat themselves: few words and turns of phrase make up most of a text (Zipf).
        weights = list(accumulate(1 / (rank + 2) for rank in range(len(words))))
        self._phrases = [
            " ".join(chance.choices(words, cum_weights=weights, k=self._between(2, 5))) for _ in range(260)
        ]
        self._words = words
        self._word_weights = weights
        self._phrase_weights = list(accumulate(1 / (rank + 2) for rank in range(len(self._phrases))))

    def _between(self, low: int, high: int) -> int:
        return low + int(self._chance.random() * (high - low + 1))

    def _one_of(self, items: Sequence[str]) -> str:
        return items[int(self._chance.random() * len(items))]

    def words(self, low: int, high: int) -> str:
        """Some words."""
        return " ".join(self._chance.choices(self._words, cum_weights=self._word_weights, k=self._between(low, high)))

    def phrases(self, low: int, high: int) -> str:
        """Some turns of phrase."""
        count = self._between(low, high)
        return " ".join(self._chance.choices(self._phrases, cum_weights=self._phrase_weights, k=count))

    def sentence(self) -> str:
        """A capital letter, phrases, and a full stop."""
        return self.phrases(2, 4).capitalize() + "."

    def title(self) -> str:
        """A few words with a capital letter."""
        return self.words(2, 5).capitalize()

    def piece(self) -> str:
        """One piece of markup, of a kind pages are made of."""
        kinds = (
            self._article,
            self._list,
            self._table,
            self._cards,
            self._terms,
            self._comments,
            self._facts,
        )
        return kinds[int(self._chance.random() * len(kinds))]()

    def before_link(self) -> str:
        """The beginning of a div with a link in it, up to the address."""
        kind = self._one_of(["more", "nav-item", "related", "teaser", "entry"])
        rest = self._one_of(["", ' class="link"', ' class="link title"', f' id="l{self._between(1, 999)}"'])
        return f'<div class="{kind}"><a{rest} href="'

    def after_link(self) -> str:
        """What follows the address: the text of a link and the end of the div around it."""
        return f'">{self.words(1, 5)}</a> <span class="meta">{self.words(1, 3)}</span></div>\n'

    def _times(self, low: int, high: int) -> range:
        return range(self._between(low, high))

    def _article(self) -> str:
        parts = [f'<article class="post"><h2 class="title">{self.title()}</h2>\n']
        for _ in self._times(2, 3):
            inner = self._one_of(["em", "strong", "b", "i", "code", "small"])
            parts.append(f"<p>{self.sentence()} <{inner}>{self.words(1, 3)}</{inner}> {self.phrases(1, 2)}, ")
            parts.append(f"<span>{self.words(1, 3)}</span> {self.sentence()}</p>\n")
        end = f'<time>{self._date()}</time> <span class="author">{self.words(1, 2)}</span>'
        return "".join(parts) + f'<div class="meta">{end}</div></article>\n'

    def _list(self) -> str:
        items = "".join(
            f'<li class="item"><b>{self.words(1, 2)}</b> {self.phrases(1, 3)}</li>\n' for _ in self._times(6, 11)
        )
        return f'<div class="block"><h3>{self.title()}</h3>\n<ul class="list">\n{items}</ul></div>\n'

    def _table(self) -> str:
        rows = "".join(
            f"<tr><td>{self.phrases(1, 2)}</td><td>{self._between(1, 9)}</td><td>{self.phrases(1, 2)}</td></tr>\n"
            for _ in self._times(6, 10)
        )
        head = "".join(f"<th>{self.words(1, 1)}</th>" for _ in range(3))
        return f'<table class="data"><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table>\n'

    def _cards(self) -> str:
        cards = "".join(
            f'<div class="card"><div class="card-body"><h4 class="card-title">{self.title()}</h4>'
            f"<p>{self.sentence()}</p></div></div>\n"
            for _ in self._times(3, 5)
        )
        return f'<div class="row cards">\n{cards}</div>\n'

    def _terms(self) -> str:
        pairs = "".join(f"<dt>{self.words(1, 3)}</dt><dd>{self.sentence()}</dd>\n" for _ in self._times(5, 9))
        return f'<dl class="terms">\n{pairs}</dl>\n'

    def _comments(self) -> str:
        parts = "".join(
            f'<div class="comment"><div class="comment-head"><b>{self.words(1, 1)}</b> '
            f"<span>{self._date()}</span></div><p>{self.sentence()} {self.sentence()}</p></div>\n"
            for _ in self._times(2, 5)
        )
        return f'<section class="comments">\n{parts}</section>\n'

    def _facts(self) -> str:
        parts = "".join(
            f'<p><label>{self.phrases(1, 1)}</label><span class="value">{self._between(1, 99)}</span>'
            f"<br><i>{self.phrases(1, 3)}</i></p>\n"
            for _ in self._times(4, 8)
        )
        return f'<aside class="facts">\n<h3>{self.title()}</h3>\n{parts}</aside>\n'

    def _date(self) -> str:
        return f"{self._between(2019, 2025)}-{self._between(1, 12):02}-{self._between(1, 28):02}"
