r"""Rows as lines of JSON or of CSV. In: names and rows. Out: text, line by line.

Ids are text in JSON, and so are whole numbers that JavaScript does not keep; in CSV they stand as they are. Times are
text already.

>>> file = io.BytesIO()
>>> write_json(["id", "final"], [[1 << 60, True]], file), write_csv(["id", "title"], [[1 << 60, "a, b"]], file)
(1, 1)
>>> print(file.getvalue().decode().rstrip())
{"id":"1152921504606846976","final":true}
id,title
1152921504606846976,"a, b"
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import IO, Any

import msgspec

_EXACT = 1 << 53  # whole numbers below this are the same in JavaScript
_IDS = frozenset({"id", "via", "duplicate_of", "source", "target", "redirected_from"})
_AT_ONCE = 1000  # lines that are written in one go


def write_json(names: Sequence[str], rows: Iterable[Sequence[Any]], out: IO[bytes]) -> int:
    """One JSON object a line; how many there were."""
    written = 0
    encode = msgspec.json.Encoder(enc_hook=str).encode
    for row in rows:
        named = zip(names, row, strict=True)
        out.write(encode({name: str(value) if _needs_text(name, value) else value for name, value in named}) + b"\n")
        written += 1
    return written


def _needs_text(name: str, value: Any) -> bool:
    """Many readers of JSON keep no more than 53 bits of a number."""
    return type(value) is int and (name in _IDS or not -_EXACT < value < _EXACT)


def write_csv(names: Sequence[str], rows: Iterable[Sequence[Any]], out: IO[bytes]) -> int:
    """The names in the first line, then a line a row; how many there were."""
    written = 0
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(names)
    for row in rows:
        lines.writerow([str(value).lower() if isinstance(value, bool) else value for value in row])
        written += 1
        if written % _AT_ONCE == 0:
            out.write(text.getvalue().encode("utf-8", "backslashreplace"))
            text.seek(0)
            text.truncate()
    out.write(text.getvalue().encode("utf-8", "backslashreplace"))
    return written
