"""`weft url normalize`: the normal form of every URL that is given, or stands on standard input, line by line.

In: one text per line, in any encoding. Out: as many lines on standard output; empty where there is no normal
form, with the reason on standard error. Lines are answered as they come, so that the command can sit in a
pipe.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Annotated, BinaryIO

from cyclopts import Parameter

from weft.errors import UsageError
from weft.urls import PLAIN_RULES, Unusable, UrlRules, normal_form

_BLOCK = 1 << 16
_not_shown = re.compile("[\x00-\x1f\x7f\udc80-\udcff]")


def normalize(
    *url: Annotated[str, Parameter(help="URLs; without any, they are read from standard input, one a line.")],
    base: Annotated[str | None, Parameter(help="URL against which relative ones are resolved.")] = None,
    add_www: Annotated[bool, Parameter(help="Put www. before bare registered domains.", negative=())] = False,
    drop_index: Annotated[bool, Parameter(help="Remove index.html and its like from the end.", negative=())] = False,
    drop_sessions: Annotated[bool, Parameter(help="Remove ids of sessions, as a crawl does.", negative=())] = False,
    drop_orders: Annotated[
        bool, Parameter(help="Remove what orders a server's list of a folder, as a crawl does.", negative=())
    ] = False,
    strict: Annotated[bool, Parameter(help="Exit with 1 if any line had no normal form.", negative=())] = False,
) -> int:
    """Print the normal form of each URL.

    A line that is no usable URL gives an empty line, and "line N: reason: text" on standard error. The
    reasons are no-scheme, scheme (not http or https) and host (missing or impossible).

    For example:

        weft url normalize HTTP://Example.org:80/a/../b

        weft url normalize --base https://example.org/ < links.txt
    """
    if base is not None:
        resolved = normal_form(base)
        if isinstance(resolved, Unusable):
            raise UsageError(f"the base '{_visible(base)}' is no usable URL", where="--base", todo=resolved.sentence)
        base = resolved
    asked = UrlRules(add_www=add_www, drop_index=drop_index, drop_sessions=drop_sessions, drop_orders=drop_orders)
    rules = PLAIN_RULES if asked == PLAIN_RULES else asked
    number = unusable = 0
    for lines in [list(url)] if url else blocks(sys.stdin.buffer):
        answers: list[str] = []
        complaints: list[str] = []
        for number, line in enumerate(lines, number + 1):  # noqa: B020
            normal = normal_form(line, base, rules)
            if isinstance(normal, Unusable):
                answers.append("")
                complaints.append(f"line {number}: {normal.value}: {_visible(line)}\n")
            else:
                answers.append(normal)
        sys.stdout.write("\n".join(answers) + "\n")
        sys.stdout.flush()
        if complaints:
            unusable += len(complaints)
            sys.stderr.write("".join(complaints))
    return 1 if strict and unusable else 0


def blocks(stream: BinaryIO) -> Iterator[list[str]]:
    """The lines of a stream without their ends, as many at once as have arrived.

    Bytes that are no UTF-8 come as surrogates (PEP 383): in a URL each becomes the triplet of its byte.
    """
    pieces: list[bytes] = []
    read = getattr(stream, "read1", stream.read)  # what is there now, rather than wait for a full block
    while block := read(_BLOCK):
        whole, newline, rest = block.rpartition(b"\n")
        pieces.append(whole if newline else rest)
        if newline:
            yield _lines(b"".join(pieces))
            pieces = [rest] if rest else []
    if pieces:
        yield _lines(b"".join(pieces))


def _lines(block: bytes) -> list[str]:
    text = block.decode("utf-8", "surrogateescape")
    if "\r" in text:
        return [line.removesuffix("\r") for line in text.split("\n")]
    return text.split("\n")


def _visible(text: str) -> str:
    """A text that is safe to show: control characters, which could move a cursor, and odd bytes spelt."""
    return _not_shown.sub(lambda match: f"\\x{ord(match[0]) & 0xFF:02x}", text)
