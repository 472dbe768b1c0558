"""The names in HTML that mean something to a crawler, and tables of them for the compiled tokenizer.

Elements and attributes have the numbers of their places in `ELEMENTS` and `ATTRIBUTES`; 0 is any other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BITS = 9  # of the place in a table of names
SPREAD = -7046029254386353131  # the golden ratio

# What each element is asked for: always, and where the parts of a page are collected too. *text* is what it holds.
_FOR_LINKS = {
    "a": "href rel xlink:href",
    "area": "href rel xlink:href",
    "base": "href",
    "frame": "src",
    "html": "lang xml:lang",
    "iframe": "src",
    "link": "href rel",
    "meta": "content http-equiv name",
    "title": "text",
}
_FOR_PARTS = {
    "audio": "src",
    "body": "background",
    "embed": "src",
    "image": "href xlink:href",
    "img": "src srcset data-src data-srcset",
    "input": "src",
    "link": "imagesrcset",
    "object": "data",
    "script": "src href xlink:href",
    "source": "src srcset",
    "style": "text",
    "table": "background",
    "td": "background",
    "track": "src",
    "use": "href xlink:href",
    "video": "src poster",
}
TEXT_HOLDERS = "iframe noembed noframes script style textarea title xmp"
"""No tags are in these."""
DRAWING_ENDERS = (
    "b big blockquote body br center code dd div dl dt em embed font h1 h2 h3 h4 h5 h6 head hr i img li listing menu "
    "meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
"""A drawing that was left open ends here; with <font> only if it has a colour, a face or a size, as nearly all have."""
BODY_PARTS = (
    "applet area body br button dd dt embed hr iframe image img input keygen li listing marquee object plaintext pre "
    "select table textarea wbr xmp"
)
"""A page that has one of these is no set of frames."""
SURROUNDINGS = "svg math desc foreignobject title mi mn mo ms mtext"
"""Drawings, formulas, and where HTML begins again in them."""
_OTHERS = "frameset plaintext template"


def _all(*texts: str) -> list[str]:
    return list(dict.fromkeys(["", *" ".join(texts).split()]))


ATTRIBUTES = _all("text style", *_FOR_LINKS.values(), *_FOR_PARTS.values())
LONE_HREF = len(ATTRIBUTES)
"""Stands for the href of an <a> that has nothing else that is asked for: most links."""
ELEMENTS = _all(*_FOR_LINKS, *_FOR_PARTS, TEXT_HOLDERS, DRAWING_ENDERS, BODY_PARTS, SURROUNDINGS, _OTHERS)


def table(names: list[str]) -> NDArray[np.int64]:
    """Names by their hash: their first and their second eight signs as numbers, and their place in the list."""
    found = np.zeros((1 << BITS, 3), np.int64)
    for number, name in enumerate(names[1:], 1):
        first, second = int.from_bytes(name[:8].encode(), "big"), int.from_bytes(name[8:].encode(), "big")
        place = (first * SPREAD + second) >> 40 & (1 << BITS) - 1
        while found[place, 2]:
            place = (place + 1) & (1 << BITS) - 1
        found[place] = first, second, number
    return found


def places(names: str) -> NDArray[np.int64]:
    """For each element its place among some names, counted from 1; 0 if it is not one of them."""
    among = names.split()
    return np.array([among.index(name) + 1 if name in among else 0 for name in ELEMENTS])


def asked_of(*, parts: bool) -> NDArray[np.int64]:
    """For each element, as bits, the attributes that it is asked for."""
    bits = np.zeros(len(ELEMENTS), np.int64)
    for asked in (_FOR_LINKS, _FOR_PARTS) if parts else (_FOR_LINKS,):
        for element, attributes in asked.items():
            for attribute in attributes.split():
                bits[ELEMENTS.index(element)] |= 1 << ATTRIBUTES.index(attribute)
    return bits | (parts << ATTRIBUTES.index("style"))
