"""The crawl log: one line a fetch, to follow with tail. In: `Fetched` events. Out: lines of tab-separated fields, or a
JSON object a line with the same fields, and with what the result is made of.

The fields: time, status or reason, bytes, seconds, kind, depth, attempt, URL, media type, address, digest, and the
id of the page where it was found, 0 for none. A failed fetch has `status reason`; `cut:length` or `cut:time` stands
behind where a limit of ours cut the content, and `retry` where it will be tried again.

All workers append to one file. When it is full one of them puts it aside, and the others see that it has another name
when they write next; so they do when somebody else moves it (logrotate).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from weft.disk import writing
from weft.events import Event, Fetched
from weft.model import KIND_NAMES, Outcome
from weft.store.rotation import Rotation
from weft.store.warc import warc_date
from weft.urls import signed

FIELDS = ("time", "result", "bytes", "took", "kind", "depth", "attempt", "url", "type", "address", "digest", "via")


Form = Literal["text", "json"]
"""How the lines of a log are written."""


class LogEntry(msgspec.Struct, frozen=True, gc=False):
    """A line of the log, as JSON has it."""

    time: str
    result: str
    bytes: int
    took: float  # seconds
    kind: str
    depth: int
    attempt: int
    url: str
    type: str | None
    address: str | None
    digest: str | None
    via: str  # an id: a number of 64 bits, which not every reader of JSON can hold
    status: int | None
    reason: str | None  # why it failed
    cut: str | None  # what cut its content
    retry: bool  # it is tried again


class CrawlLog:
    """Writes the lines of one worker; its store owns it. A line is appended whole, so that workers share the file."""

    def __init__(self, path: Path, rotation: Rotation | None = None, form: Form = "text") -> None:
        self._path = path
        self._line = log_line if form == "text" else json_line
        self._rotation = rotation
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _appending(path)
        self._lines: list[str] = []
        self._left = b""  # what a full disk did not take

    def __repr__(self) -> str:
        return f"CrawlLog({self._path.name}, {len(self._lines)} lines waiting)"

    def on_event(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, Fetched):
            self._lines.append(self._line(event))

    def flush(self) -> None:
        """Write the lines that wait; what the disk does not take waits on."""
        if self._lines or self._left:
            self._left += "".join(self._lines).encode("utf-8", "replace")
            self._lines = []
            with writing(self._path):
                if not _is_at(self._file, self._path):
                    os.close(self._file)
                    self._file = _appending(self._path)
                while self._left:
                    self._left = self._left[os.write(self._file, self._left) :]
                if self._rotation is not None:
                    self._rotation.put_aside(self._path)

    def close(self) -> None:
        """Write what is left and give the file back."""
        try:
            self.flush()
        finally:
            os.close(self._file)


def _appending(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def _is_at(file: int, path: Path) -> bool:
    """Is an open file still the one of this name?"""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def log_line(event: Fetched) -> str:
    """An event as a line of the log."""
    outcome = event.outcome
    turn, page, parsed = outcome.turn, outcome.page, outcome.parsed
    found = parsed.type if parsed is not None and parsed.type else "-"
    return (
        f"{warc_date(page.fetched_at)}\t{_result(outcome)}\t{len(page.body)}\t{page.took:.3f}\t{KIND_NAMES[turn.kind]}\t{turn.depth}\t"
        f"{turn.attempt}\t{turn.url}\t{found}\t{page.address or '-'}\t{event.digest or '-'}\t{signed(turn.via)}\n"
    )


def _result(outcome: Outcome) -> str:
    page, reason = outcome.page, outcome.reason
    result = str(page.status) if reason is None else f"{page.status or '-'} {reason.value}"
    if page.truncated:
        result += f" cut:{page.truncated}"
    return result if outcome.final else f"{result} retry"


def json_line(event: Fetched) -> str:
    """An event as a line of the log, in JSON."""
    outcome = event.outcome
    turn, page, parsed = outcome.turn, outcome.page, outcome.parsed
    entry = LogEntry(
        warc_date(page.fetched_at),
        _result(outcome),
        len(page.body),
        round(page.took, 3),
        KIND_NAMES[turn.kind],
        turn.depth,
        turn.attempt,
        _whole(turn.url),
        _whole(parsed.type) if parsed is not None and parsed.type else None,
        page.address or None,
        event.digest or None,
        str(signed(turn.via)),
        page.status or None,
        None if outcome.reason is None else outcome.reason.value,
        page.truncated or None,
        not outcome.final,
    )
    return msgspec.json.encode(entry).decode() + "\n"


def fields_of(line: str) -> list[str]:
    """The fields of a line, in whatever form it is; none where it is not whole."""
    if line.startswith("{"):
        try:
            entry = msgspec.json.decode(line, type=LogEntry)
        except msgspec.DecodeError:
            return []
        values = [getattr(entry, name) for name in FIELDS]
        texts = ["-" if value is None else str(value) for value in values]
        texts[FIELDS.index("took")] = f"{entry.took:.3f}"
        return texts
    fields = line.split("\t")
    return fields if len(fields) == len(FIELDS) else []


def result_of(text: str) -> tuple[str | None, str | None, bool]:
    """Why a fetch failed, what cut its content, and whether it is tried again.

    >>> result_of("200"), result_of("200 cut:length"), result_of("503 status-5xx retry")
    ((None, None, False), (None, 'length', False), ('status-5xx', None, True))
    """
    words = text.split()[1:]
    cause = next((word.removeprefix("cut:") for word in words if word.startswith("cut:")), None)
    reason = next((word for word in words if word != "retry" and not word.startswith("cut:")), None)
    return reason, cause, "retry" in words


def as_json(fields: list[str]) -> str:
    """The fields of a line as one JSON object."""
    time, result, size, took, kind, depth, attempt, url, media, address, digest, via = fields
    status = result.split()[0]
    reason, cut, retry = result_of(result)
    entry = LogEntry(
        time,
        result,
        int(size),
        float(took),
        kind,
        int(depth),
        int(attempt),
        url,
        None if media == "-" else media,
        None if address == "-" else address,
        None if digest == "-" else digest,
        via,
        None if status == "-" else int(status),
        reason,
        cut,
        retry,
    )
    return msgspec.json.encode(entry).decode()


def _whole(text: str) -> str:
    """A text that JSON can have: without halves of characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
