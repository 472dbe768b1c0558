"""The index of a volume, by which replay finds its records. In: what was stored where. Out: CDXJ lines, sorted when
the volume is sealed.

A line is the URL's key, the second of the fetch, and a JSON object with the fields, in the order and the forms, that
cdxj-indexer writes for the same record; so a volume's index need not be made from the volume again. pywb's own
indexer leaves out the name of the algorithm before a digest, and the status of revisits; pywb reads both forms, but
should not be given both of the same volumes.

>>> print(cdxj_line("http://www.example.org/a", 1.5, 200, "text/html; charset=utf-8", "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSC",
...     512, 1024, "weft-00001.warc.gz", revisit=False), end="")  # doctest: +NORMALIZE_WHITESPACE
org,example)/a 19700101000001 {"url": "http://www.example.org/a", "mime": "text/html", "status": "200",
"digest": "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSC", "length": "1024", "offset": "512", "filename": "weft-00001.warc.gz"}
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from heapq import merge
from json.encoder import encode_basestring_ascii as quoted  # the part of `json` that writes one text
from pathlib import Path

from weft.disk import rename, sync_file, writing
from weft.store.warc import warc_date
from weft.urls import surt

_behind_type = re.compile(r"[;,\s].*", re.DOTALL)  # parameters; or the same header again, joined by a comma
_RUN = 1 << 20  # bytes that are sorted at once: few enough that the loop, which waits meanwhile, does not notice
_ONLY_DIGITS = str.maketrans("", "", "-T:")


def cdxj_line(  # noqa: PLR0913
    url: str,
    wall: float,
    status: int,
    mime: str,
    digest: str,
    offset: int,
    length: int,
    volume: str,
    *,
    revisit: bool,
) -> str:
    """The line of a record; `mime` is the answer's Content-Type as it came, "" where there was none."""
    kind = '"warc/revisit"' if revisit else _type(mime)
    return (
        f'{surt(url)} {_timestamp(warc_date(wall)[:19])} {{"url": {quoted(url)}, "mime": {kind}, "status": "{status}", '
        f'"digest": "{digest}", "length": "{length}", "offset": "{offset}", "filename": {quoted(volume)}}}\n'
    )


@lru_cache(maxsize=64)  # a second has many fetches
def _timestamp(second: str) -> str:
    """The fourteen digits of a WARC date.

    >>> _timestamp("2024-02-29T12:34:56")
    '20240229123456'
    """
    return second.translate(_ONLY_DIGITS)


@lru_cache(maxsize=1024)  # most answers are of a few types
def _type(declared: str) -> str:
    """The media type of a Content-Type, in JSON; where it names none, the word that pywb's indexer writes.

    >>> _type("Text/HTML; charset=utf-8"), _type("text/html, text/html"), _type("")
    ('"Text/HTML"', '"text/html"', '"unk"')
    """
    return quoted(_behind_type.sub("", declared.strip()) or "unk")


def sort_cdxj(journal: Path, sealed: Path, about_to_be_named: Callable[[Path], None] = lambda _content: None) -> None:
    """Sort the lines of an open volume bytewise into their final file, and take the journal away.

    Whenever it is interrupted it can be called again: the journal goes last. Where it is gone already, and the final
    file is there, nothing is left to do.
    """
    with writing(sealed):
        if sealed.exists() and not journal.exists():
            return
        runs: list[list[bytes]] = []
        with journal.open("rb") as file:
            while lines := file.readlines(_RUN):
                if not lines[-1].endswith(b"\n"):
                    lines.pop()  # what lies behind the last line end is no line
                lines.sort()
                runs.append(lines)
        beside = sealed.with_name(f"{sealed.name}.new")
        with beside.open("wb") as file:
            file.writelines(merge(*runs))
        sync_file(beside)
        about_to_be_named(beside)
        rename(beside, sealed)
        journal.unlink()
