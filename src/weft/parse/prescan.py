"""The charset that a page declares in its own first bytes. In: bytes. Out: the Python codec of its charset, or "".

This is the HTML standard's "prescan a byte stream to determine its encoding" (section 13.2.3.2) with its parts "get an
attribute", "get an XML encoding" and (section 2.6.3) "extracting a character encoding from a meta element". So comments
are skipped, only meta elements count, `content` counts only beside `http-equiv=content-type`, and the first declaration
that names a charset wins. Labels are those of the Encoding standard; the ones it has for "replacement", which only says
that a page must not be read, name no charset here.

No bytes raise, and the time is linear in their number.

>>> prescan(b'<!-- <meta charset="koi8-r"> --><meta content="use charset=big5"><meta charset=latin1>')
'cp1252'
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache

from resiliparse.parse.encoding import map_encoding_to_html5

_WHITESPACE = "\t\n\f\r "
_W = r"\t\n\f\r "
# One attribute. What stands open at the end of the bytes matches up to there: whoever reads on has run out of bytes.
_VALUE = rf""""([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^{_W}>"'][^{_W}>]*+)?+"""
_ATTRIBUTE = rf"[{_W}/]*+([^{_W}/>][^{_W}/>=]*+)(?:[{_W}]*+=[{_W}]*+(?:{_VALUE}))?+"
_ATTRIBUTES = rf"(?:{_ATTRIBUTE.replace('([', '(?:[')})*+[{_W}/]*+"
_META = rf"<meta(?=[{_W}/])({_ATTRIBUTES})>"
# What else there is: text, tags without values (whatever they are), other tags, comments, declarations up to their >.
_TAG = rf"<(?!meta[{_W}/])/?[a-z][^{_W}>]*+{_ATTRIBUTES}>"
_ELSE = rf"[^<]++|<[a-z/][^=>]*+>|{_TAG}|<!(?=--)(?s:.*?)-->|<(?!!--|/[a-z])[!/?][^>]*+>|<(?![a-z!/?])"
_CONTENT = rf"""charset[{_W}]*+=[{_W}]*+(?:"([^"]*+)"|'([^']*+)'|([^"'][^{_W};]*+))?+"""
_XML = r"""[\x00-\x20]*+=[\x00-\x20]*+(?:"([^\x00-\x20"]*+)"|'([^\x00-\x20']*+)')"""
_to_meta = re.compile(rf"(?:{_ELSE})*+{_META}".encode()).match
_attributes = re.compile(_ATTRIBUTE.encode()).findall
_in_content = re.compile(_CONTENT.encode()).search
_in_xml = re.compile(_XML.encode()).match
_WIDE_XML = (b"<\x00?\x00x\x00", b"\x00<\x00?\x00x")
_EARLY = 1024  # bytes; those who write pages are told to declare the charset in them

# Labels of the Encoding standard that the library does not know.
_MORE_LABELS = {"x-mac-cyrillic": "mac-cyrillic", "x-mac-ukrainian": "mac-cyrillic"}
# Python's codecs of these names are narrower than what browsers read under the same names.
_WIDER = {
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "gbk": "gb18030",
    "iso8859-11": "cp874",
}


@lru_cache(maxsize=1024)
def charset_named(label: str) -> str:
    """The Python codec that a charset label means on the web ("latin1" is windows-1252 there), or "".

    >>> charset_named("ISO-8859-1"), charset_named("nonsense")
    ('cp1252', '')
    """
    label = label.strip(_WHITESPACE).lower()
    mapped = _MORE_LABELS.get(label) or (map_encoding_to_html5(label, fallback_utf8=False) if label else None)
    if not mapped:
        return ""
    try:
        name = codecs.lookup(mapped).name
    except LookupError:
        return ""
    return _WIDER.get(name, name)


def prescan(start: bytes) -> str:
    """The codec of the charset that these bytes declare, or ""."""
    if start.startswith(_WIDE_XML):
        return "utf-16-le" if start.startswith(b"<") else "utf-16-be"
    at = start.find(b"charset", 0, _EARLY)
    if at >= 0 and (found := _known_beginning(start[: start.find(b">", at) + 1])):
        return found
    lowered = start.lower()
    if b"charset" in lowered and (found := _in_metas(lowered)):
        return found
    return _of_xml(start) if start.startswith(b"<?xml") else ""


@lru_cache(maxsize=1024)
def _known_beginning(text: bytes) -> str:
    """The same as `_in_metas`: up to the charset the pages of a site are often equal."""
    return _in_metas(text.lower()) if text else ""


def _in_metas(text: bytes) -> str:
    """The charset of the first meta element that has one."""
    last = text.rfind(b"<meta", 0, text.rindex(b"charset"))
    place = 0
    while place <= last and (meta := _to_meta(text, place)):
        if name := _of_meta(meta[1]):
            return name
        place = meta.end()
    return ""


def _of_meta(written: bytes) -> str:
    """The charset that a meta element with these attributes declares, or ""."""
    values: dict[bytes, bytes] = {}
    for name, *value in _attributes(written):
        values.setdefault(name, value[0] or value[1] or value[2])
    if b"charset" in values:
        codec = _named(values[b"charset"])
    elif values.get(b"http-equiv") == b"content-type" and (found := _in_content(values.get(b"content", b""))):
        codec = _named(found[1] or found[2] or found[3] or b"")
    else:
        return ""
    # What can be read byte by byte is not in UTF-16, whatever it says.
    return "utf-8" if codec.startswith("utf-16") else codec


def _of_xml(start: bytes) -> str:
    """The charset of an XML declaration that these bytes begin with."""
    word = start.find(b"encoding")
    found = _in_xml(start, word + len(b"encoding")) if word >= 0 and b">" in start else None
    name = charset_named((found[1] or found[2] or b"").decode("latin-1")) if found else ""
    return "utf-8" if name.startswith("utf-16") else name


def _named(label: bytes) -> str:
    text = label.decode("latin-1").strip(_WHITESPACE)
    return "cp1252" if text == "x-user-defined" else charset_named(text)
