"""Media types. In: what the server says and the first bytes. Out: what it is, and whether we collect it.

A declared type is believed when it is specific, unless the content begins as another format must; a missing or vague
one, and HTML served as plain text, are settled by looking at the bytes (P3 4.2: servers are often wrong).

>>> detect_type("application/octet-stream", b"  <!DOCTYPE html><title>x</title>")
'text/html'
"""

from __future__ import annotations

import difflib
import mimetypes
import re
from functools import lru_cache

from weft.errors import UsageError
from weft.urls import extension

HTML = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"))
CSS = frozenset(("text/css",))
FEEDS = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"))
_XML = frozenset(("text/xml", "application/xml"))
_VAGUE = frozenset(
    (
        "",
        "application/octet-stream",
        "binary/octet-stream",
        "text/plain",
        "unknown/unknown",
        "application/unknown",
        "*/*",
    )
)

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"OggS", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x00\x00\x01\x00", "image/vnd.microsoft.icon"),
    (b"{\\rtf", "application/rtf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
)

_FIRST = frozenset(magic[:1] for magic, _ in _MAGIC)
_BLANKS = b"\xef\xbb\xbf \t\r\n\x0c"
_NAMED_TYPE = re.compile(r"\s*([!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+)")  # tokens, by RFC 9110
_LONGEST_TYPE = 255  # characters; two names of up to 127, by RFC 6838

_HTML_STARTS = tuple(
    f"<{tag}".encode()
    for tag in ("!doctype html", "html", "head", "body", "script", "iframe", "h1", "div", "font", "table", "a", "style",
                "title", "b", "br", "p", "meta", "link", "frameset", "center", "!--")
)  # fmt: skip


@lru_cache(maxsize=1024)
def plain_type(declared: str) -> str:
    """A Content-Type without its parameters; "" when it is none. Of several joined by a comma the first counts.

    >>> plain_type("Text/HTML; charset=x"), plain_type("text/html, text/html"), plain_type("html")
    ('text/html', 'text/html', '')
    """
    # It is written to logs and terminals: no sign is taken that a media type cannot have, and not more than it may.
    found = _NAMED_TYPE.match(declared[:_LONGEST_TYPE].lower())
    return found[1] if found else ""


def detect_type(declared: str, body: bytes) -> str:
    """The media type of a content, declared or seen in its first bytes; "" when nothing can be said."""
    declared = plain_type(declared)
    if declared not in _VAGUE:
        if declared in HTML:
            return declared if body[:1] not in _FIRST else _by_magic(body) or declared
        if declared in _XML:
            return _xml_type(_start(body), declared)
        return "text/html" if not declared.startswith("text/") and is_html(body) else declared
    if found := _by_magic(body):
        return found
    start = _start(body)
    text = start.lstrip(_BLANKS)
    if text.startswith(b"<?xml"):
        return _xml_type(text, "text/xml")
    if text.startswith(_HTML_STARTS) and (text[:4] != b"<!--" or b"<html" in body[:4096].lower()):
        return "text/html"
    if start and b"\x00" not in start:
        return "text/plain"
    return declared


def is_html(start: bytes) -> bool:
    """Does a content begin as pages do, whatever its header says? What other formats may begin with is no sign.

    >>> is_html(b" <!DOCTYPE html><p>"), is_html(b"<svg>"), is_html(b"")
    (True, False, False)
    """
    return start[:1024].lstrip(_BLANKS).lower().startswith((b"<!doctype html", b"<html"))


def _by_magic(body: bytes) -> str:
    """The media type that the first bytes say; "" where they say none."""
    return next((name for magic, name in _MAGIC if body.startswith(magic)), "")


def _start(body: bytes) -> bytes:
    """The first bytes in lower case, brought from UTF-16 where a mark says so."""
    start = body[:1024]
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        start = start.decode("utf-16", "replace").encode("utf-8", "replace")
    return start.lower()


def _xml_type(start: bytes, declared: str) -> str:
    for mark, name in (
        (b"<rss", "application/rss+xml"),
        (b"<feed", "application/atom+xml"),
        (b"<rdf:rdf", "application/rdf+xml"),
        (b"<html", "application/xhtml+xml"),
    ):
        if mark in start:
            return name
    return declared


# File names that are no pages, by extension, with the media types that such files are served with: the registered one
# first. Python's own table has the types of those that stand in `_BY_PYTHON`. Of several names for a type the first is
# the one that is told.
_BY_PYTHON = (
    "aac avi bin bmp css csv dll doc dot exe gif ico jpg jpeg js mjs json m3u8 mov mp3 mp2 mp4 mpg mpeg pdf png ppm "
    "ppt pot pps ps ai eps ra ram svg swf tar tif tiff wasm wav webm xls zip"
)
_ODF, _OOXML = "application/vnd.oasis.opendocument.", "application/vnd.openxmlformats-officedocument."
_NOT_PAGES: dict[str, tuple[str, ...]] = {
    **{name: (mimetypes.MimeTypes().types_map[True][f".{name}"],) for name in _BY_PYTHON.split()},
    "7z": ("application/x-7z-compressed",),
    "apk": ("application/vnd.android.package-archive",),
    "bz2": ("application/x-bzip2", "application/x-bzip"),
    "cab": ("application/vnd.ms-cab-compressed",),
    "class": ("application/java-vm",),
    "deb": ("application/vnd.debian.binary-package", "application/x-debian-package"),
    "dmg": ("application/x-apple-diskimage",),
    "docx": (f"{_OOXML}wordprocessingml.document",),
    "eot": ("application/vnd.ms-fontobject",),
    "flac": ("audio/flac", "audio/x-flac"),
    "flv": ("video/x-flv",),
    "gz": ("application/gzip", "application/x-gzip"),
    "img": ("application/x-raw-disk-image",),
    "iso": ("application/x-iso9660-image",),
    "jar": ("application/java-archive",),
    "m4a": ("audio/mp4", "audio/x-m4a"),
    "m4v": ("video/mp4", "video/x-m4v"),
    "mid": ("audio/midi", "audio/x-midi"),
    "midi": ("audio/midi", "audio/x-midi"),
    "mkv": ("video/matroska", "video/x-matroska"),
    "msi": ("application/x-msi", "application/x-msdownload"),
    "odp": (f"{_ODF}presentation",),
    "ods": (f"{_ODF}spreadsheet",),
    "odt": (f"{_ODF}text",),
    "ogg": ("audio/ogg", "application/ogg"),
    "ogv": ("video/ogg", "application/ogg"),
    "otf": ("font/otf",),
    "pptx": (f"{_OOXML}presentationml.presentation",),
    "psd": ("image/vnd.adobe.photoshop",),
    "rar": ("application/vnd.rar", "application/x-rar-compressed"),
    "rm": ("application/vnd.rn-realmedia",),
    "rpm": ("application/x-rpm",),
    "rtf": ("application/rtf", "text/rtf"),
    "sql": ("application/sql",),
    "tgz": ("application/gzip", "application/x-gzip"),
    "torrent": ("application/x-bittorrent",),
    "ts": ("video/mp2t",),
    "ttf": ("font/ttf",),
    "webp": ("image/webp",),
    "wma": ("audio/x-ms-wma",),
    "wmv": ("video/x-ms-wmv",),
    "woff": ("font/woff",),
    "woff2": ("font/woff2",),
    "xlsx": (f"{_OOXML}spreadsheetml.sheet",),
    "xz": ("application/x-xz",),
    "z": ("application/x-compress",),
    "zst": ("application/zstd",),
}

_ENDINGS_OF_PAGES = ("/", ".html", ".htm", ".php")
_EVERYTHING = frozenset(("*/*", "*", "all"))
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/(?:\*|[a-z0-9][a-z0-9!#$&^_.+-]*\*?)")


def types_meant(text: str) -> tuple[str, ...]:
    """The media types that an entry of `types` stands for: itself, those of a file name extension, or all.

    >>> types_meant("image/*"), types_meant(".GZ"), types_meant("all")
    (('image/*',), ('application/gzip', 'application/x-gzip'), ('*/*',))
    """
    name = text.strip().lower()
    if name in _EVERYTHING:
        return ("*/*",)
    if _MEDIA_TYPE.fullmatch(name):
        return (name,)
    short = name.removeprefix(".")
    if short in _NOT_PAGES:
        return _NOT_PAGES[short]
    known = _TYPES.guess_type(f"x.{short}", strict=False)[0] if short.isalnum() else None
    if known is not None:
        return (known,)
    close = difflib.get_close_matches(short.rpartition("/")[2], _NOT_PAGES, n=1)
    meant = f"did you mean {close[0]} ({_NOT_PAGES[close[0]][0]})? Else " if close else ""
    raise UsageError(
        f"'{text}' is no media type, and no file name extension that is known",
        where="types",
        todo=f"{meant}write such as application/pdf, image/*, pdf, or '*/*' for everything",
    )


def type_by_name(url: str) -> str:
    """The media type that a file name says which is no page's, or "".

    >>> type_by_name("http://a/b.pdf"), type_by_name("http://a/")
    ('application/pdf', '')
    """
    return _NOT_PAGES.get(extension(url), ("",))[0]


def option_for(media_type: str) -> str:
    """What is given to `--types` to have answers of a media type: an extension where there is one.

    >>> option_for("application/pdf"), option_for("application/x-own")
    ('pdf', 'application/x-own')
    """
    return _SHORTEST.get(media_type, media_type)


_TYPES = mimetypes.MimeTypes()
_SHORTEST = {types[0]: name for name, types in reversed(_NOT_PAGES.items())}


class Wanted:
    """Which media types a crawl collects as pages: text, HTML, XML and feeds, and whatever else `types` names.

    >>> wanted = Wanted(("application/pdf",))
    >>> wanted.type("text/html"), wanted.type("image/png"), wanted.type("application/pdf"), wanted.link("http://a/b.zip")
    (True, False, True, False)
    """

    def __init__(self, types: tuple[str, ...] = ()) -> None:
        meant = [each for text in types for each in types_meant(text)]
        self._prefixes = ("",) if "*/*" in meant else tuple(each.rstrip("*") for each in meant)
        # Extensions of what is not collected.
        self._refused = frozenset(
            name for name, served in _NOT_PAGES.items() if not any(each.startswith(self._prefixes) for each in served)
        )

    def names(self, media_type: str) -> bool:
        """Was this type asked for, beside those that are always collected?"""
        return media_type.startswith(self._prefixes)

    def type(self, declared: str) -> bool:
        """Is an answer of this declared type worth reading? One without a type, or a vague one, is."""
        declared = plain_type(declared)
        return (
            declared.startswith(("text/", *self._prefixes))
            or declared in _VAGUE
            or declared in HTML
            or declared in _XML
            or declared.endswith("+xml")
            or declared in FEEDS
        )

    def link(self, url: str) -> bool:
        """May a link with this file name lead to something we collect?"""
        if url.endswith(_ENDINGS_OF_PAGES):  # most of them, for a tenth of the time
            return True
        return extension(url) not in self._refused
