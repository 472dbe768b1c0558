"""Signs that a content was misread (P3 4.2, 5.4). In: a text, and how many links its page has. Out: the signs.

A wrong charset, a file that is called a page, a page that a script would have to write: what comes of it has no words,
or strings of more than thirty characters without a blank, which made VN's classifiers err. Scripts that are written
without blanks (Chinese, Japanese, Thai …) are no sign.

>>> signs_of("Olá, mundo!", 3), signs_of("", 0), signs_of("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNk" * 9, 2)
('', 'no-words no-links', 'long-strings')
>>> readable({"misread": "no-links"}), readable({"misread": "no-words no-links"}), readable({})
(True, False, True)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

COLUMN = "misread"
_SHARE = 0.5  # of a text that is in such strings
_without_blanks = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_long = re.compile(rf"[^\s{_without_blanks}]{{31,}}")
_word = re.compile(rf"[^\W\d_]{{2,}}|[{_without_blanks}]").search


def signs_of(text: str, links: int) -> str:
    """The signs that a text was misread, the worst first; "" where there is none."""
    signs = []
    if _word(text) is None:
        signs.append("no-words")
    elif sum(len(found[0]) for found in _long.finditer(text)) > _SHARE * len("".join(text.split())):
        signs.append("long-strings")
    if not links:
        signs.append("no-links")
    return " ".join(signs)


def readable(columns: Mapping[str, Any]) -> bool:
    """May a page with these columns be given to a classifier? One that only has no links may."""
    return (columns.get(COLUMN) or "no-links") == "no-links"
