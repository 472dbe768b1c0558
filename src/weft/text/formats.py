"""The formats of texts: one table, by media type. In: a content, and what it is said to be. Out: its text, or why there
is none.

What a content begins with counts more than what it is called: servers send RTF as Word documents, HTML as sheets, and
anything as a zip archive. Whatever a library raises, a content that it was given is broken; nothing is raised here but
a lack of memory, behind which nothing is sure.

>>> extract(b"one two", "text/plain", "utf-8", Limits()).text
'one two'
>>> extract(bytes(20), "image/png", "", Limits()).reason
<Why.NO_EXTRACTOR: 'no-extractor'>
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from weft.clock import Clock, SystemClock
from weft.text.epub import read_epub
from weft.text.gathering import Gathering, Stopped, Why
from weft.text.html import main_text, whole_text
from weft.text.mail import read_mail
from weft.text.office import read_docx, read_pptx
from weft.text.opendocument import read_opendocument
from weft.text.pdf import read_pdf
from weft.text.plain import decoded, read_plain
from weft.text.rtf import read_rtf
from weft.text.sheets import read_sheets
from weft.text.zipped import Archive

Which = Literal["main", "whole", "both"]
Read = Callable[[bytes, str, Gathering], None]

_OOXML, _ODF = "application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument."
_MACRO = ".macroenabled.12"
_MB = 1_000_000


class Format(NamedTuple):
    """A format: what it is called, by which media types it is known, what reads it, and how large a content may be."""

    name: str
    types: tuple[str, ...]
    read: Read | None  # None where nothing does
    most: int = 50 * _MB  # bytes


def _read_html(body: bytes, charset: str, into: Gathering) -> None:
    into.add(whole_text(decoded(body, charset)))


FORMATS: tuple[Format, ...] = (
    Format("html", ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"), _read_html, 20 * _MB),
    Format("plain", ("text/plain", "text/markdown", "text/csv", "text/tab-separated-values"), read_plain, 20 * _MB),
    Format("pdf", ("application/pdf", "application/x-pdf"), read_pdf),
    Format("rtf", ("application/rtf", "text/rtf", "text/richtext"), read_rtf, 10 * _MB),
    Format("docx", (f"{_OOXML}wordprocessingml.document", f"{_OOXML}wordprocessingml.template",
                    f"application/vnd.ms-word.document{_MACRO}"), read_docx),
    Format("xlsx", (f"{_OOXML}spreadsheetml.sheet", f"{_OOXML}spreadsheetml.template",
                    f"application/vnd.ms-excel.sheet{_MACRO}",
                    f"application/vnd.ms-excel.sheet.binary{_MACRO}"), read_sheets, 20 * _MB),
    Format("pptx", (f"{_OOXML}presentationml.presentation", f"{_OOXML}presentationml.slideshow",
                    f"application/vnd.ms-powerpoint.presentation{_MACRO}"), read_pptx),
    Format("odt", (f"{_ODF}text", f"{_ODF}text-template"), read_opendocument),
    Format("ods", (f"{_ODF}spreadsheet", f"{_ODF}spreadsheet-template"), read_opendocument),
    Format("odp", (f"{_ODF}presentation", f"{_ODF}presentation-template"), read_opendocument),
    Format("xls", ("application/vnd.ms-excel", "application/msexcel", "application/x-msexcel"), read_sheets, 20 * _MB),
    Format("doc", ("application/msword", "application/x-msword"), None),
    Format("ppt", ("application/vnd.ms-powerpoint", "application/mspowerpoint"), None),
    Format("mail", ("message/rfc822", "multipart/related", "application/x-mimearchive"), read_mail, 20 * _MB),
    Format("epub", ("application/epub+zip",), read_epub),
)  # fmt: skip
BY_NAME = {each.name: each for each in FORMATS}
BY_TYPE = {media: each for each in FORMATS for media in each.types}

_STARTS = ((b"%PDF-", "pdf"), (b"{\\rtf", "rtf"))
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IN_OLE = (("WordDocument", "doc"), ("Workbook", "xls"), ("Book", "xls"), ("PowerPoint Document", "ppt"))
_IN_ZIP = (("word/", "docx"), ("xl/", "xlsx"), ("ppt/", "pptx"))
_IN_MARKUP = (b"<!doctype html", b"<html", b"<head", b"<body", b"<table", b"<meta")
_FIRST = 2_000_000  # bytes in which the names of an old office file are looked for


class Limits(NamedTuple):
    """How much of a text is kept, and how long it may take to be had."""

    text_bytes: int = 1 * _MB
    seconds: float = 5.0


class Extracted(NamedTuple):
    """What came of a content."""

    format: str  # "" where it is none of ours
    text: str  # the main text where that was asked for and the format has one, else all of it
    whole: str  # all of it where both were asked for, else ""
    reason: Why | None


def format_of(body: bytes, media_type: str) -> Format | None:
    r"""The format of a content, by its first bytes where these tell, else by its media type.

    >>> format_of(b"{\\rtf1 x}", "application/msword").name, format_of(b"", "text/html").name, format_of(b"", "a/b")
    ('rtf', 'html', None)
    """
    for start, name in _STARTS:
        if body[:1024].lstrip().startswith(start):
            return BY_NAME[name]
    called = BY_TYPE.get(media_type)
    if body.startswith(_ZIP):
        return _in_zip(body) or called
    if body.startswith(_OLE):
        return _in_ole(body) or called
    if called is not None and called.name in ("doc", "xls", "docx", "xlsx"):
        start = body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        if start.startswith(_IN_MARKUP):  # as many programs export them
            return BY_NAME["html"]
    if called is None and media_type.startswith("text/"):
        return BY_NAME["plain"] if not media_type.endswith(("/css", "/javascript", "/xml")) else None
    return called


def _in_zip(body: bytes) -> Format | None:
    """What a zip archive is, by the member that says so, or by the folders in it."""
    into = Gathering(0, SystemClock().now() + 60)
    try:
        archive = Archive(body, into, most=1000)
        if archive.names[:1] == ["mimetype"]:
            return BY_TYPE.get(archive.read("mimetype").decode("ascii", "replace").strip())
        for folder, name in _IN_ZIP:
            if any(each.startswith(folder) for each in archive.names):
                return BY_NAME[name]
    except Stopped:
        pass
    return None


def _in_ole(body: bytes) -> Format | None:
    """What an old office file is, by the names of its streams."""
    for stream, name in _IN_OLE:
        if stream.encode("utf-16-le") + b"\0\0" in body:
            return BY_NAME[name]
    return None


def extract(
    body: bytes, media_type: str, charset: str, limits: Limits, which: Which = "whole", clock: Clock | None = None
) -> Extracted:
    """The text of a content. Belongs into a process with limits: a library may never return, or end the process."""
    found = format_of(body, media_type)
    if found is None or found.read is None:
        return Extracted("" if found is None else found.name, "", "", Why.NO_EXTRACTOR)
    if len(body) > found.most:
        return Extracted(found.name, "", "", Why.TOO_LARGE)
    clock = clock or SystemClock()
    until = clock.now() + limits.seconds
    if found.name == "html" and which == "main":
        text, reason = _gathered(_read_main, body, charset, Gathering(limits.text_bytes, until, clock))
        if reason is not Why.TOO_DEEP:
            return Extracted("html", text, "", reason)
        text, _ = _gathered(found.read, body, charset, Gathering(limits.text_bytes, until, clock))
        return Extracted("html", text, "", reason)
    whole, reason = _gathered(found.read, body, charset, Gathering(limits.text_bytes, until, clock))
    if which != "both" or found.name != "html":
        return Extracted(found.name, whole, whole if which == "both" else "", reason)
    text, why = _gathered(_read_main, body, charset, Gathering(limits.text_bytes, until, clock))
    if why is Why.TOO_DEEP:
        text = whole
    return Extracted("html", text, whole, why or reason)


def _read_main(body: bytes, charset: str, into: Gathering) -> None:
    text = main_text(decoded(body, charset))
    if text is None:
        raise Stopped(Why.TOO_DEEP)
    into.add(text)


def _gathered(read: Read, body: bytes, charset: str, into: Gathering) -> tuple[str, Why | None]:
    """Read a content: its text, and why that ends early or is none, if so."""
    reason: Why | None = None
    try:
        read(body, charset, into)
    except Stopped as stopped:
        reason = stopped.reason
    except ImportError:
        reason = Why.NOT_INSTALLED
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  a library may raise anything on a broken content
        reason = Why.BROKEN
    text = into.text()
    return text, reason or (None if text else Why.NO_TEXT)
