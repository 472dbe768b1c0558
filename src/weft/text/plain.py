"""Plain text. In: bytes and their charset. Out: the same as text."""

from __future__ import annotations

from weft.text.gathering import Gathering


def read_plain(body: bytes, charset: str, into: Gathering) -> None:
    """A text as it is."""
    into.add(decoded(body, charset))


def decoded(body: bytes, charset: str) -> str:
    r"""Bytes as text, by their charset, or by what they look like; what has none is UTF-8.

    >>> decoded("Olá".encode("utf-16"), ""), decoded(b"caf\xe9", "latin-1"), decoded(b"a", "no such charset")
    ('Olá', 'café', 'a')
    """
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if body.startswith(mark):
            charset = name
    try:
        return body.decode(charset or "utf-8", "strict" if not charset else "replace")
    except (LookupError, UnicodeDecodeError):
        from resiliparse.parse.encoding import detect_encoding  # where nobody says what it is

        return body.decode(detect_encoding(body) or "utf-8", "replace")
