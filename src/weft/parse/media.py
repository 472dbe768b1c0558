"""Media types. In: what the server says and the first bytes. Out: what it is, and whether we collect it.

A declared type is believed when it is specific; a missing or vague one, and HTML served as plain text, are settled
by looking at the bytes (P3 4.2: servers are often wrong).

>>> detect_type("application/octet-stream", b"  <!DOCTYPE html><title>x</title>")
'text/html'
"""

from __future__ import annotations

import mimetypes
from functools import lru_cache

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
    for end in ";,":
        declared = declared.partition(end)[0]
    words = declared.lower().split(None, 1)
    return words[0] if words and "/" in words[0] else ""


def detect_type(declared: str, body: bytes) -> str:
    """The media type of a content, declared or seen in its first bytes; "" when nothing can be said."""
    declared = plain_type(declared)
    if declared not in _VAGUE:
        return _xml_type(_start(body), declared) if declared in _XML else declared
    for magic, name in _MAGIC:
        if body.startswith(magic):
            return name
    start = _start(body)
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n\x0c")
    if text.startswith(b"<?xml"):
        return _xml_type(text, "text/xml")
    if text.startswith(_HTML_STARTS) and (text[:4] != b"<!--" or b"<html" in body[:4096].lower()):
        return "text/html"
    if start and b"\x00" not in start:
        return "text/plain"
    return declared


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


_NOT_PAGES = frozenset(
    [
        "7z",
        "aac",
        "ai",
        "apk",
        "avi",
        "bin",
        "bmp",
        "bz2",
        "cab",
        "class",
        "css",
        "csv",
        "deb",
        "dll",
        "dmg",
        "doc",
        "docx",
        "dot",
        "eot",
        "eps",
        "exe",
        "flac",
        "flv",
        "gif",
        "gz",
        "ico",
        "img",
        "iso",
        "jar",
        "jpeg",
        "jpg",
        "js",
        "json",
        "m3u8",
        "m4a",
        "m4v",
        "mid",
        "midi",
        "mjs",
        "mkv",
        "mov",
        "mp2",
        "mp3",
        "mp4",
        "mpeg",
        "mpg",
        "msi",
        "odp",
        "ods",
        "odt",
        "ogg",
        "ogv",
        "otf",
        "pdf",
        "png",
        "pot",
        "ppm",
        "pps",
        "ppt",
        "pptx",
        "ps",
        "psd",
        "ra",
        "ram",
        "rar",
        "rm",
        "rpm",
        "rtf",
        "sql",
        "svg",
        "swf",
        "tar",
        "tgz",
        "tif",
        "tiff",
        "torrent",
        "ts",
        "ttf",
        "wav",
        "wasm",
        "webm",
        "webp",
        "wma",
        "wmv",
        "woff",
        "woff2",
        "xls",
        "xlsx",
        "xz",
        "z",
        "zip",
        "zst",
    ]
)


_TYPES = mimetypes.MimeTypes()


_ENDINGS_OF_PAGES = ("/", ".html", ".htm", ".php")


class Wanted:
    """Which media types a crawl collects as pages: text, HTML, XML and feeds, and whatever else `types` names.

    >>> wanted = Wanted(("application/pdf",))
    >>> wanted.type("text/html"), wanted.type("image/png"), wanted.type("application/pdf"), wanted.link("http://a/b.zip")
    (True, False, True, False)
    """

    def __init__(self, types: tuple[str, ...] = ()) -> None:
        self._prefixes = tuple(name.lower().rstrip("*") for name in types)

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
        ending = extension(url)
        if ending not in _NOT_PAGES:
            return True
        known = _TYPES.types_map[True].get(f".{ending}")
        return bool(self._prefixes) and (known is None or known.startswith(self._prefixes))
