"""The text of OpenDocument: texts, sheets and presentations (odt, ods, odp). In: an archive. Out: the words of its
paragraphs and headings.
"""

from __future__ import annotations

from weft.text.gathering import Gathering, Stopped, Why
from weft.text.markup import Words, attributes_of, read_words
from weft.text.zipped import Archive

_WORDS = Words(
    holds={"p", "h"},
    before={"tab": "\t", "line-break": "\n", "s": " "},
    behind={"p": "\n", "h": "\n", "page": "\n"},
    without={"tracked-changes"},  # what was deleted
)
_CONTENT, _MANIFEST = "content.xml", "META-INF/manifest.xml"


def read_opendocument(body: bytes, _charset: str, into: Gathering) -> None:
    """What is in a document of this family."""
    archive = Archive(body, into)
    if _CONTENT not in archive.names:
        raise Stopped(Why.BROKEN)
    if _MANIFEST in archive.names and attributes_of(archive.read(_MANIFEST), "encryption-data"):
        raise Stopped(Why.ENCRYPTED)
    read_words(archive.chunks(_CONTENT), _WORDS, into)
