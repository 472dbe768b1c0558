"""Style sheets. In: their text. Out: what they refer to: @import and url().

>>> css_links('@import "a.css"; b { background: url( b.png ) } c { src: url("c.woff2") }')
[('a.css', <Kind.STYLE: 33>), ('b.png', <Kind.PART: 35>), ('c.woff2', <Kind.PART: 35>)]
"""

from __future__ import annotations

import re

from weft.model import Kind

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_QUOTED = r"""(?:"((?:[^"\\\n]|\\.)*+)"|'((?:[^'\\\n]|\\.)*+)')"""
_BARE = r"""((?:[^\s"'()\\]|\\.)++)"""
_REFERENCE = re.compile(
    rf"(@import\s*)?url\(\s*(?:{_QUOTED}|{_BARE})\s*\)|(@import\s*){_QUOTED}", re.IGNORECASE | re.DOTALL
)
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{1,6})\s?|\\(.)", re.DOTALL)


def css_links(text: str) -> list[tuple[str, int]]:
    """What a style sheet, or a style attribute, refers to, in the order it stands there."""
    links: list[tuple[str, int]] = []
    for match in _REFERENCE.finditer(_COMMENT.sub(" ", text)):
        imported, double, single, bare, also_imported, *quoted = match.groups()
        written = _plain(next(name for name in (double, single, bare, *quoted) if name is not None))
        if written and written[:5].lower() != "data:":
            links.append((written, Kind.STYLE if imported or also_imported else Kind.PART))
    return links


def _plain(written: str) -> str:
    return _ESCAPE.sub(_unescape, written).strip() if "\\" in written else written.strip()


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        code = int(match[1], 16)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return match[2]
