"""The process that moves sealed volumes to a store, as a crawl has it. In: where they move to. Out: it runs as long as
the crawl does, is started again when it dies, and has the last word when the crawl is over.

Without a store nothing is started, and nothing is imported. What it does says `store/uploads.py`.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.clock import Clock
from weft.engine.messages import Ear, Messages
from weft.errors import UsageError

_LOOK = 0.1  # seconds between two looks while the crawl waits for it
_PAUSE = 5.0  # seconds before it is started again


def check_uploading(url: str) -> None:
    """Can volumes be moved to a store, if that is wanted?"""
    if url and importlib.util.find_spec("obstore") is None:
        raise UsageError("volumes cannot be moved to a store: obstore is missing", todo="pip install 'weft[s3]'")


@contextmanager
def uploading(out: Path, url: str, clock: Clock, messages: Messages) -> Iterator[Callable[[], None]]:
    """Have volumes moved meanwhile; what is to be called now and then. At the end everything is moved that can be."""
    if not url:
        yield lambda: None
        return
    uploader = _Uploader(out, url, clock, messages)
    try:
        yield uploader.look
        uploader.finish()
    finally:
        uploader.end()


class _Uploader:
    """The process, and what it says."""

    def __init__(self, out: Path, url: str, clock: Clock, messages: Messages) -> None:
        self._out = out
        self._url = url
        self._clock = clock
        self._messages = messages
        self._start_at: float | None = None
        self._start()

    def _start(self) -> None:
        command = [sys.executable, "-m", "weft.store.uploads", str(self._out), self._url, str(os.getpid())]
        # A session of its own: Ctrl-C is for the crawl.
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        self._ear = Ear(self._process.stderr, self._messages.pass_on)
        self._start_at = None

    def look(self) -> None:
        """Hear what it says, and start it again if it died."""
        self._ear.listen()
        now = self._clock.now()
        if self._start_at is not None:
            if now >= self._start_at:
                self._start()
        elif self._process.poll() is not None:
            self._gone()
            code = self._process.returncode
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            self._messages.say(f"the process that uploads volumes ended by {how}; it is started again, nothing is lost")
            self._start_at = now + _PAUSE

    def finish(self) -> None:
        """Nothing more is sealed: let it move what is left, and end. A store that is away is not waited for."""
        if self._start_at is not None:
            self._start()
        if self._process.stdin is not None:
            self._process.stdin.close()
        while self._process.poll() is None:
            self._ear.listen()
            time.sleep(_LOOK)
        self._ear.listen()

    def end(self) -> None:
        """End it at once, if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._gone()

    def _gone(self) -> None:
        self._ear.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
