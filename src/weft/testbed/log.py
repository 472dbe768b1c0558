r"""The request log: what the servers saw, request by request. In: lines. Out: a TSV file, and a reader for it.

One clock for all times: seconds since 1970 as the monotonic clock counts them on from the start, so that
differences are true even when the machine's wall clock is set. A line is written when the last byte of an
answer has been handed to the kernel, and one more, with the event `close`, when a connection has ended (its
`last_byte` says when). Politeness is judged by this file: it is the servers' word, not the crawler's.

Where a web changes, a line also says in which time of the web its request was answered: what was sent is the version
of that time.

Invariant: a file holds whole lines only, except perhaps for its last one while a server is running.
"""

from __future__ import annotations

import os
import re
from math import nan
from pathlib import Path
from typing import NamedTuple

from weft.clock import Clock
from weft.errors import UsageError, WeftError


class Entry(NamedTuple):
    """One line of the log."""

    event: str
    """`request`, or `close` for the end of a connection."""
    site: str
    """Host, with the port where it is not the usual one; `-` if it was never told."""
    address: str
    scheme: str
    connection: int
    """Number of the connection, different for all connections of a log."""
    opened: float
    """When the connection was accepted."""
    first_byte: float
    """When the request's first byte was read."""
    last_byte: float
    """When the answer's last byte was handed to the kernel; the client has it no earlier."""
    method: str
    status: int
    """0 if there was no answer, or none that is HTTP."""
    size: int
    """Bytes of the answer, header included."""
    kind: str
    """What the answer was: page, redirect, 404, hang, … (see `weft.testbed.answers`)."""
    path: str
    agent: str
    web_time: float = nan
    """The web's time, in seconds from its start, for which the answer was made; NaN: the web does not change."""


_HEADERS = ("\t".join(Entry._fields[:-1]), "\t".join(Entry._fields))
"""The first line of a log; where a web changes, the second of these."""
_UNPRINTABLE = dict.fromkeys((*range(32), 127), "?")
_PRINTABLE = re.compile(rb"[ -~]+\Z").match


class Stopwatch:
    """Seconds since 1970 that never jump."""

    __slots__ = ("_now", "_offset")

    def __init__(self, clock: Clock) -> None:
        self._now = clock.now
        self._offset = clock.wall() - clock.now()

    def read(self) -> float:
        """The time."""
        return self._now() + self._offset


class RequestLog:
    """Collects lines and appends them to a file in large writes."""

    __slots__ = ("_file", "_lines")

    def __init__(self, path: Path | None, *, changing: bool = False) -> None:
        self._lines: list[bytes] = []
        self._file = -1
        if path is None:
            return
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            if os.fstat(self._file).st_size == 0:
                os.write(self._file, f"{_HEADERS[changing]}\n".encode())
        except OSError as error:
            raise WeftError(f"cannot write the request log: {error.strerror}", where=str(path)) from error

    def add(self, line: bytes) -> None:
        """Keep a line, which must end in a line feed, for the next flush."""
        self._lines.append(line)

    def flush(self) -> None:
        """Append what was collected."""
        if not self._lines:
            return
        text = b"".join(self._lines)
        self._lines.clear()
        if self._file >= 0:
            os.write(self._file, text)

    def close(self) -> None:
        """Flush for the last time."""
        self.flush()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def cleaned(text: bytes) -> bytes:
    """A text from outside as it stands in a line: no tabs, line feeds or bytes outside ASCII."""
    if _PRINTABLE(text):
        return text
    return text.decode("latin-1").translate(_UNPRINTABLE).encode("ascii", "backslashreplace") or b"-"


class LogReader:
    """Reads a log that grows: each line once, however often it is asked."""

    __slots__ = ("_entries", "_lines", "_path", "_read")

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0  # bytes of whole lines …
        self._lines = 0  # … and how many these are
        self._entries: list[Entry] = []

    def entries(self) -> list[Entry]:
        """All whole lines there are by now."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                text = file.read()
        except OSError as error:
            raise UsageError(f"cannot read the request log: {error.strerror}", where=str(self._path)) from error
        whole = text[: text.rfind(b"\n") + 1]
        try:
            lines = whole.decode("ascii").splitlines()
        except UnicodeDecodeError as error:
            raise _no_log(self._path) from error
        if lines and not self._read and lines[0] not in _HEADERS:
            raise _no_log(self._path)
        for number, line in enumerate(lines, self._lines + 1):
            if number > 1:
                self._entries.append(self._entry(number, line))
        self._read += len(whole)
        self._lines += len(lines)
        return self._entries.copy()

    def _entry(self, number: int, line: str) -> Entry:
        try:
            return _entry(line)
        except ValueError as error:
            raise UsageError(
                "a line of the request log cannot be read",
                where=f"{self._path}, line {number}",
                todo="lines are whole as the servers write them: take the file anew, or leave this line out",
            ) from error


def read_log(path: Path) -> list[Entry]:
    """All whole lines of a log."""
    return LogReader(path).entries()


def is_cut(path: Path) -> bool:
    """Whether the last line of a log is not whole: its server runs, or was killed, or the file was cut."""
    return not path.read_bytes().endswith(b"\n")


def _no_log(path: Path) -> UsageError:
    return UsageError(
        "this is no log of the testbed's servers", where=str(path), todo="give what `weft testbed serve --log` wrote"
    )


def _entry(line: str) -> Entry:
    event, site, address, scheme, connection, opened, first, last, *rest = line.split("\t")
    method, status, size, kind, path, agent, *web_time = rest
    return Entry(
        event, site, address, scheme, int(connection), float(opened), float(first), float(last), method,
        int(status), int(size), kind, path, agent, *map(float, web_time),
    )  # fmt: skip
