"""What a text tells of itself: its words, and signs that its content was misread (P3 4.2, 5.4). In: a text. Out: counts
and signs.

A page without links, a text without words, and one without blanks between its signs were probably not what they were
taken for: a picture read as text, a text in another charset, a page of scripts. Languages that are written without
blanks are not counted as such.
"""

from __future__ import annotations

import re

_word = re.compile(r"[^\W\d_]{2,}")
_LONG = re.compile(r"[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\ua000-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]{31,}")  # fmt: skip  # noqa: E501

NO_LINKS, NO_WORDS, LONG_STRINGS = "no-links", "no-words", "long-strings"


def signs_of(text: str, links: int | None) -> str:
    """The signs of a misread content, separated by commas; `links` are those of a page, None where it is no page.

    >>> signs_of("A usual page with words", 3), signs_of("", 0)
    ('', 'no-links,no-words')
    >>> signs_of("x" * 40 + " and more", None), signs_of("日本語" * 20, None)
    ('long-strings', '')
    """
    found = []
    if links == 0:
        found.append(NO_LINKS)
    if _word.search(text) is None:
        found.append(NO_WORDS)
    elif 2 * sum(len(each) for each in _LONG.findall(text)) > len(text):
        found.append(LONG_STRINGS)
    return ",".join(found)


def words_in(text: str) -> int:
    """How many words a text has: what stands between blanks."""
    return len(text.split())
