"""The names in HTML that mean something to a crawler, and tables of them for the compiled tokenizer. Lists of elements
are those of the HTML standard, under its names.

Elements and attributes have the numbers of their places in `ELEMENTS` and `ATTRIBUTES`; 0 is any other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BITS = 9  # of the number of a slot in a table of names
SPREAD = -7046029254386353131  # the golden ratio

# What each element is asked for: always, and where the parts of a page are collected too. *text* is its content.
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
RAWTEXT = "iframe noembed noframes style xmp"
"""Start tags that switch the tokenizer to the RAWTEXT state; <noscript> does not, for scripting is off."""
RCDATA = "textarea title"
"""Start tags that switch the tokenizer to the RCDATA state."""
BREAKOUT_TAGS = (
    "b big blockquote body br center code dd div dl dt em embed font h1 h2 h3 h4 h5 h6 head hr i img li listing menu "
    "meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
"""Start tags that break out of foreign content (13.2.6.5); <font> only with a color, a face or a size, as nearly all
have: it is not looked at.
"""
FRAMESET_NOT_OK = (
    "applet area body br button dd dt embed hr iframe image img input keygen li listing marquee object plaintext pre "
    "select table textarea wbr xmp"
)
"""Start tags that set the frameset-ok flag to "not ok" ("in body"): a page that has one of these has no frameset."""
FOREIGN = "svg math desc foreignobject title mi mn mo ms mtext"
"""Where foreign content begins; then the HTML integration points of SVG, and the text integration points of MathML."""
_OTHERS = "frameset plaintext template"


def _all(*texts: str) -> list[str]:
    return list(dict.fromkeys(["", *" ".join(texts).split()]))


ATTRIBUTES = _all("text style", *_FOR_LINKS.values(), *_FOR_PARTS.values())
LONE_HREF = len(ATTRIBUTES)
"""Stands for the href of an <a> that has nothing else that is asked for: most links."""
ELEMENTS = _all(*_FOR_LINKS, *_FOR_PARTS, RAWTEXT, RCDATA, BREAKOUT_TAGS, FRAMESET_NOT_OK, FOREIGN, _OTHERS)


def table(names: list[str]) -> NDArray[np.int64]:
    """Names by their hash: their first and their second eight characters as numbers, and their place in the list."""
    found = np.zeros((1 << BITS, 3), np.int64)
    for number, name in enumerate(names[1:], 1):
        first, second = int.from_bytes(name[:8].encode(), "big"), int.from_bytes(name[8:].encode(), "big")
        slot = (first * SPREAD + second) >> 40 & (1 << BITS) - 1
        while found[slot, 2]:
            slot = (slot + 1) & (1 << BITS) - 1
        found[slot] = first, second, number
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
