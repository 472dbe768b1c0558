"""The language of a text, by eld (decision 0062). In: a text. Out: its language and how sure that is.

>>> detect = detector()
>>> detect("Isto é um texto em português, que fala de páginas e de sítios da rede.").language
'pt'
>>> detect("404") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from weft.errors import UsageError

_MOST = 1_000  # characters that are looked at: more of them cost time, and tell little more
_LEAST = 20  # letters
_letters = re.compile(r"[^\W\d_]")


class Language(NamedTuple):
    """What a text seems to be written in."""

    language: str  # by ISO 639-1
    confidence: float  # from 0 to 1


@cache
def detector() -> Callable[[str], Language | None]:
    """What tells the language of a text; None of one that is too short to tell."""
    try:
        from eld import LanguageDetector
    except ImportError as error:
        raise UsageError(
            "languages cannot be told: eld is not installed",
            where="detect_language",
            todo="pip install 'weft[language]', or leave --detect-language out",
        ) from error
    made = LanguageDetector()

    def detect(text: str) -> Language | None:
        """The language of a text."""
        text = text[:_MOST]
        if len(_letters.findall(text)) < _LEAST:
            return None
        found = made.detect(text)
        if not found.language:
            return None
        return Language(found.language, float(found.scores()[found.language]))

    return detect
