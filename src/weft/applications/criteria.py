"""What a page is about: criteria, each a small function. In: a page, or a link to one. Out: how well it meets them,
from 0 to 1, or None where that cannot be told.

Not everything can be told of everything. The language of a page that was not fetched yet is not known, nor is anything
about the content of one that was misread (binary data taken for text, say): no classifier sees it. So criteria are
joined by a logic of three values: `or` is met where one side is, whatever the other; what rests on something that
nobody knows is not known.

>>> portuguese = either(domains("pt"), both(languages("pt"), linked_from("pt")))
>>> portuguese(Seen("http://a.pt/")), portuguese(Seen("http://a.com/", via="http://b.com/"))
(1.0, 0.0)
>>> portuguese(Seen("http://a.com/", via="http://b.pt/")) is None
True
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from weft.engine.application import FetchedPage
from weft.errors import UsageError
from weft.parse.misread import COLUMN, readable, signs_of
from weft.parse.stage import ReadPage
from weft.settings import named
from weft.text.html import whole_text
from weft.text.language import detector
from weft.text.topic import read_model
from weft.urls import host_of, site_of

MET = 0.5
"""From here on a criterion is met."""

_HTML = frozenset(("text/html", "application/xhtml+xml"))
_MOST_MARKUP = 200_000  # characters of a page of which no text is there
_MOST_TIMES = 50  # that a word is counted
_word = re.compile(r"[^\W\d_]{2,}")


class Seen(NamedTuple):
    """What criteria look at: a page, or a link to one."""

    url: str
    via: str = ""  # the page that led to it; "" where none did
    words: str | None = None  # its text, or what the link to it says; None: they are not known
    page: FetchedPage | None = None  # None: it was not fetched yet


Criterion = Callable[[Seen], float | None]


def seen_page(page: FetchedPage, via: str = "") -> Seen:
    """A page as criteria see it; one that was misread has no words."""
    words = _text_of(page)
    return Seen(page.url, via, None if _is_misread(page, words) else f"{page.title}\n{words}", page)


def seen_link(url: str, text: str, via: str) -> Seen:
    """A link as criteria see it, by what it says and by the words of its URL."""
    return Seen(url, via, f"{text}\n{' '.join(_word.findall(unquote(url.partition('//')[2])))}")


def _text_of(page: FetchedPage) -> str:
    """The text of a page: as the stage `text` found it, where that runs, else the words of its markup."""
    if "text_reason" in page.columns:
        return page.columns.get("text") or ""
    if page.type in _HTML:
        return whole_text(page.text[:_MOST_MARKUP])
    return page.text[:_MOST_MARKUP] if page.type.startswith("text/") else ""


def _is_misread(page: ReadPage, words: str) -> bool:
    """Was its content read as what it is not (P3 4.2, 5.4)? A stage may have noted the signs."""
    noted = page.columns if COLUMN in page.columns else {COLUMN: signs_of(words, page.link_count)}
    return not readable(noted)


# --- criteria ---


def domains(*names: str) -> Criterion:
    """Its host is one of these names, or below one: pt, example.com."""
    below = _below(names)
    return lambda seen: float(below(seen.url))


def linked_from(*names: str) -> Criterion:
    """The page that led to it is on such a host. A seed was led to by none."""
    below = _below(names)
    return lambda seen: float(seen.via != "" and below(seen.via))


def _below(names: tuple[str, ...]) -> Callable[[str], bool]:
    ends = tuple(f".{name.strip().strip('.').lower()}" for name in names)
    return lambda url: f".{host_of(site_of(url))}".endswith(ends)


def languages(*names: str) -> Criterion:
    """Its text is in one of these languages, by ISO 639-1, whatever it declares; what it declares counts where its text
    is too short to tell.
    """
    wanted = frozenset(name.strip().lower() for name in names)
    detect = detector()

    def criterion(seen: Seen) -> float | None:
        page = seen.page
        if page is None or seen.words is None:
            return None
        if "detected_language" in page.columns:
            found, sure = page.columns["detected_language"], page.columns.get("language_confidence") or 0.0
        else:
            told = detect(seen.words.partition("\n")[2])
            found, sure = (None, 0.0) if told is None else told
        if found is None:
            declared = page.language.lower().partition("-")[0]
            return None if not declared else MET if declared in wanted else 0.0
        return MET + sure / 2 if found in wanted else 0.0

    return criterion


def keywords(*words: str) -> Criterion:
    """Its title or text has one of these words, whatever their case; the more often, the better. A word may end with a
    star, and be several with blanks between them.
    """
    spelt = [
        r"\s+".join(re.escape(part).replace(r"\*", r"\w*") for part in word.split()) for word in words if word.strip()
    ]
    whole = re.compile(rf"\b(?:{'|'.join(spelt)})\b", re.IGNORECASE)
    within = re.compile("|".join(spelt), re.IGNORECASE)  # URLs write words together
    by_text, by_url = _found_by(whole), _found_by(within)

    def criterion(seen: Seen) -> float | None:
        told = by_text(seen)
        return told if told or seen.page is not None else by_url(seen)

    return criterion


def pattern(expression: str) -> Criterion:
    """Its title or text has something that a regular expression finds, whatever the case. Texts come from anybody, so
    it must be one that RE2 knows, which takes linear time.
    """
    import re2  # few crawls have patterns, and it takes 20 ms

    options = re2.Options()
    options.log_errors, options.case_sensitive = False, False
    try:
        return _found_by(re2.compile(expression, options))
    except re2.error as error:
        raise UsageError(
            f"this is no pattern that can be looked for in linear time: {error}",
            where=expression,
            todo="leave out back-references and look-around, or use function:module:name",
        ) from error


def _found_by(expression: Any) -> Criterion:
    def criterion(seen: Seen) -> float | None:
        if seen.words is None:
            return None
        times = sum(1 for _ in islice(expression.finditer(seen.words), _MOST_TIMES))
        return (times + 1) / (times + 2) if times else 0.0

    return criterion


def model(file: str) -> Criterion:
    """It is likely by a topic model, which `weft focus train` makes."""
    found = read_model(Path(file))
    return lambda seen: None if seen.words is None else found.score(seen.words)


def function(given: str | Callable[[FetchedPage], Any]) -> Criterion:
    """A function says so, which may be named as module:function: of a page True or False, a number from 0 to 1, or None
    where it cannot tell.
    """
    called: Any = named(given, "the function") if isinstance(given, str) else given

    def criterion(seen: Seen) -> float | None:
        if seen.page is None or seen.words is None:
            return None
        found = called(seen.page)
        if found is None:
            return None
        value = float(found)
        if not 0 <= value <= 1:  # also what is no number
            raise ValueError(f"the function says {found!r} of {seen.url}, which is not between 0 and 1")
        return value

    return criterion


# --- what joins them ---


def both(*criteria: Criterion) -> Criterion:
    """All are met: as well as the worst of them."""

    def criterion(seen: Seen) -> float | None:
        found = [each(seen) for each in criteria]
        known = min((value for value in found if value is not None), default=math.inf)
        return known if known < MET or None not in found else None

    return criterion


def either(*criteria: Criterion) -> Criterion:
    """At least one is met: as well as the best of them."""

    def criterion(seen: Seen) -> float | None:
        found = [each(seen) for each in criteria]
        known = max((value for value in found if value is not None), default=-math.inf)
        return known if known >= MET or None not in found else None

    return criterion


def opposite(one: Criterion) -> Criterion:
    """It is not met."""

    def criterion(seen: Seen) -> float | None:
        value = one(seen)
        return None if value is None else math.nextafter(1 - value, 0.0)  # of what is just met, just not met

    return criterion
