"""What weft says while a crawl runs. In: messages of the watchdog, of workers and of applications. Out: each is shown
at once, and kept in `log/messages.log`, as text or a JSON object a line, which is put aside when it is full as the
crawl log is.

A worker writes to its standard error, which the watchdog reads: no display wipes it, and a full disk does not swallow
it. A file that cannot be written costs no crawl; what is said has been shown by then, and is written with what is said
next.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal

import msgspec

from weft.clock import Clock
from weft.errors import WeftError
from weft.store.rotation import Rotation

_KEPT = 1000  # lines
_MOST = 65_536  # bytes read at once


class Messages:
    """Shows the messages of one run and keeps them in a file; the watchdog owns it.

    A message is shown before it is written, and a file that cannot be written ends nothing.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        show: Callable[[str], None],
        rotation: Rotation | None = None,
        form: Literal["text", "json"] = "text",
    ) -> None:
        self._path = path
        self._clock = clock
        self._show = show
        self._rotation = rotation
        self._form = form
        self._waiting: deque[str] = deque(maxlen=_KEPT)  # what a full disk did not take

    def __repr__(self) -> str:
        return f"Messages({self._path})"

    def say(self, text: str) -> None:
        """Say something as weft."""
        self.pass_on(f"weft: {text}")

    def pass_on(self, line: str) -> None:
        """Show a line as it is, and keep it with the time."""
        self._show(line)
        self.keep(line)

    def keep(self, line: str) -> None:
        """Keep a line that has been shown already."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock.wall()))
        kept = f"{stamp} {line}"
        if self._form == "json":
            whole = line.encode("utf-8", "backslashreplace").decode()
            kept = msgspec.json.encode({"time": stamp, "message": whole}).decode()
        with suppress(OSError, WeftError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._rotation is not None:
                self._rotation.put_aside(self._path)
            self._waiting.append(f"{kept}\n")
            with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write("".join(self._waiting))
            self._waiting.clear()


class Ear:
    """Listens to what one process writes to a pipe, line by line and without waiting."""

    def __init__(self, pipe: IO[bytes] | None, hear: Callable[[str], None]) -> None:
        self._pipe = pipe
        self._hear = hear
        self._rest = b""
        self.last = ""  # the last line that says something
        if pipe is not None:
            os.set_blocking(pipe.fileno(), False)

    def __repr__(self) -> str:
        return f"Ear({self.last!r})"

    def listen(self) -> None:
        """Pass on every line that has come."""
        while self._pipe is not None:
            try:
                data = os.read(self._pipe.fileno(), _MOST)
            except BlockingIOError:
                return
            if not data:
                self._close()
                return
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._pass_on(line)

    def close(self) -> None:
        """The process is gone: pass on what is left. What it started may still have the pipe open."""
        self.listen()
        self._close()

    def _close(self) -> None:
        if self._pipe is not None:
            self._pass_on(self._rest)
            self._rest = b""
            self._pipe.close()
            self._pipe = None

    def _pass_on(self, line: bytes) -> None:
        text = line.decode("utf-8", "backslashreplace").rstrip()
        if text:
            self.last = text
            self._hear(text)
