"""The text of an EPUB book. In: an archive. Out: the words of its chapters, in the order of its spine."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

from weft.text.gathering import Gathering, Stopped, Why
from weft.text.html import whole_text
from weft.text.markup import attributes_of
from weft.text.plain import decoded
from weft.text.zipped import Archive

_CONTAINER = "META-INF/container.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_LARGEST = 20_000_000  # bytes of a chapter


def read_epub(body: bytes, _charset: str, into: Gathering) -> None:
    """A book, chapter by chapter."""
    archive = Archive(body, into)
    if _CONTAINER not in archive.names:
        raise Stopped(Why.BROKEN)
    package = next((each.get("full-path", "") for each in attributes_of(archive.read(_CONTAINER), "rootfile")), "")
    listed = attributes_of(archive.read(package), "item", "itemref")
    items = {each.get("id", ""): each for each in listed if each[""] == "item"}
    spine = [items[ref] for each in listed if each[""] == "itemref" and (ref := each.get("idref", "")) in items]
    folder = posixpath.dirname(package)
    for item in spine:
        if item.get("media-type") in _PAGES:
            name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href", "").partition("#")[0])))
            into.add(whole_text(_chapter(archive, name)) + "\n\n")


def _chapter(archive: Archive, name: str) -> str:
    """A chapter as text; it says in its first line how it is encoded, if not in UTF-8."""
    body = archive.read(name)
    if len(body) > _LARGEST:
        raise Stopped(Why.TOO_LARGE)
    declared = body[:200].partition(b'encoding="')[2].partition(b'"')[0].decode("ascii", "replace")
    return decoded(body, declared if body.startswith(b"<?xml") else "")
