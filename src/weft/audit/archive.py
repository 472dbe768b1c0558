"""What the volumes hold. In: rows that name records. Out: the answers in them, as far as rules are in them.

Nothing here is what the crawler made of an answer: status, header and body are read out of the record.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from weft.errors import WeftError
from weft.fetch.headers import parse_head
from weft.model import Page, Reason
from weft.parse.decode import decode_content
from weft.parse.robots import ALLOW_ALL, READ_AT_LEAST, Robots, parse_robots
from weft.store.reading import CrawlFiles, Record

_REMEMBERED = 1_000  # robots.txt files: many sites have the same
_LONGEST_REMEMBERED = 20_000  # bytes of one
_no_text = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]").search
_line_end = re.compile(rb"\r\n?|\n")
_delay_line = re.compile(rb"(?i)[ \t]*crawl[- ]?delay[ \t]*:?[ \t]*([0-9.]+)")


class Answer(NamedTuple):
    """An answer as it is stored."""

    status: int
    head: bytes
    headers: dict[str, str]
    body: bytes


class File(NamedTuple):
    """What a robots.txt says to us, and its bytes."""

    robots: Robots
    body: bytes

    @property
    def delay_line(self) -> str:
        """The line that asks for the crawl-delay."""
        for number, line in enumerate(_line_end.split(self.body), 1):
            found = _delay_line.match(line)
            if found and _number(found[1]) == self.robots.crawl_delay:
                return f"{line.strip().decode('utf-8', 'replace')} (line {number})"
        return f"Crawl-delay: {self.robots.crawl_delay:g}"


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


class Archive:
    """Reads answers out of the volumes of a crawl that is audited. It believes what is in a record, and no row."""

    def __init__(self, files: CrawlFiles) -> None:
        self._files = files
        self._remembered = lru_cache(maxsize=_REMEMBERED)(_read_file)

    def __repr__(self) -> str:
        return f"Archive({self._files.out})"

    def answer(self, row: dict[str, Any]) -> Answer | None:
        """The answer of a row; None where it cannot be had. Where the record refers to another for its content, that
        is what the columns `body_…` name.
        """
        record = self._record(row["volume"], row["offset"], row["length"])
        if record is None:
            return None
        body: Record | None = record
        if record.warc.get("WARC-Type") == "revisit":
            body = self._record(row["body_volume"], row["body_offset"], row["body_length"])
        status, head, headers = parse_head(record.head.splitlines(keepends=True))
        return None if body is None else Answer(status, head, headers, body.body)

    def headers(self, row: dict[str, Any]) -> dict[str, str] | None:
        """The header of an answer, by name; None where it cannot be had."""
        record = self._record(row["volume"], row["offset"], row["length"])
        return None if record is None else parse_head(record.head.splitlines(keepends=True))[2]

    def _record(self, volume: str | None, offset: int, length: int) -> Record | None:
        if volume is None:
            return None
        try:
            return self._files.record({"volume": volume, "offset": offset, "length": length})
        except WeftError:  # it is counted as not judged; whether volumes are whole is for others to say
            return None

    def robots(self, row: dict[str, Any], agent: str) -> File | None:
        """What a robots.txt says, by RFC 9309: an answer in the 400s, and one redirect too many, allow everything.
        None where its record cannot be had.
        """
        answer = self.answer(row)
        if answer is None:
            return None
        if not 200 <= answer.status < 300:
            return File(ALLOW_ALL, b"")
        read = self._remembered if len(answer.body) <= _LONGEST_REMEMBERED else _read_file
        return read(answer.body, answer.headers.get("content-encoding", ""), row["truncated"] or "", agent)


def _read_file(body: bytes, coding: str, cut: str, agent: str) -> File:
    """The rules in a file, of which the first 500 KiB count, and no line that was cut."""
    reason: Reason | None = None
    plain = body
    if coding:
        plain, reason = decode_content(body, coding, READ_AT_LEAST + 1)
    if reason is Reason.ENCODING and not _no_text(body):
        plain = body  # text that was never coded, whatever the header says
    if reason is Reason.EXPANSION or len(plain) > READ_AT_LEAST or cut:
        plain = plain[:READ_AT_LEAST]
        plain = plain[: max(plain.rfind(b"\n"), plain.rfind(b"\r")) + 1]
    return File(parse_robots(plain, agent), plain)


def page_of(url: str, answer: Answer) -> Page:
    """An answer as what reads pages wants it."""
    return Page(
        url, answer.status, None, b"", answer.head, answer.headers, answer.body, "", "", "", 0.0, 0.0, 0.0, closed=True
    )
