"""The crawl log: one line a fetch, to follow with tail. In: `Fetched` events. Out: lines of tab-separated fields.

The fields: time, status or reason, bytes, seconds, kind, depth, attempt, URL, media type, address, digest, and the
id of the page where it was found, 0 for none. A failed fetch has `status reason`; `cut:length` or `cut:time` stands
behind where a limit of ours cut the content, and `retry` where it will be tried again.

All workers append to one file. When it is full one of them puts it aside, and the others see that it has another name
when they write next; so they do when somebody else moves it (logrotate).
"""

from __future__ import annotations

import os
from pathlib import Path

from weft.events import Event, Fetched
from weft.model import Kind
from weft.store.files import write_all, writing
from weft.store.rotation import Rotation
from weft.store.warc import warc_date
from weft.urls import signed

FIELDS = ("time", "result", "bytes", "took", "kind", "depth", "attempt", "url", "type", "address", "digest", "via")
_KINDS = {kind.value: kind.name.lower() for kind in Kind}


class CrawlLog:
    """The log of one worker."""

    def __init__(self, path: Path, rotation: Rotation | None = None) -> None:
        self._path = path
        self._rotation = rotation
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = _appending(path)
        self._lines: list[str] = []

    def __repr__(self) -> str:
        return f"CrawlLog({self._path.name}, {len(self._lines)} lines waiting)"

    def on_event(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, Fetched):
            self._lines.append(log_line(event))

    def flush(self) -> None:
        """Write the lines that wait."""
        if self._lines:
            data = "".join(self._lines).encode("utf-8", "replace")
            self._lines = []
            with writing(self._path):
                if not _is_at(self._file, self._path):
                    os.close(self._file)
                    self._file = _appending(self._path)
                write_all(self._file, data)
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
    turn, page, reason, parsed = outcome.turn, outcome.page, outcome.reason, outcome.parsed
    result = str(page.status) if reason is None else f"{page.status or '-'} {reason.value}"
    if page.truncated:
        result += f" cut:{page.truncated}"
    if not outcome.final:
        result += " retry"
    found = parsed.type if parsed is not None and parsed.type else "-"
    return (
        f"{warc_date(page.fetched_at)}\t{result}\t{len(page.body)}\t{page.took:.3f}\t{_KINDS[turn.kind]}\t{turn.depth}\t{turn.attempt}\t"
        f"{turn.url}\t{found}\t{page.address or '-'}\t{event.digest or '-'}\t{signed(turn.via)}\n"
    )
