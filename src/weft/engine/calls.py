"""Which call of user code is under way. In: calls, before and after. Out, after a worker died or hung: which one it
was; and which ones are not to be made any more.

User code in the process of a worker can end it, or hold it up for ever. Memory that is shared with a file outlives it:
the watchdog reads there what to tell. Anything may end a worker once, in the middle of a call that is not to blame. A
call in which it ended twice is not made again: its page is concluded without the application, and that is a fault.
"""

from __future__ import annotations

import mmap
from collections import Counter
from pathlib import Path

from weft.disk import writing

_FILE, _HARMFUL = "calling", "harmful"
_SIZE = 2048  # bytes; of a longer URL the beginning must do
_TWICE = 2


class ApplicationEndedError(Exception):
    """User code ended its process, or never came to an end."""


class Calls:
    """Notes of one worker, in files that survive the process."""

    def __init__(self, folder: Path) -> None:
        left = call_of(folder)
        harmful = folder / _HARMFUL
        with writing(harmful):
            if left:
                with harmful.open("a", encoding="utf-8") as file:
                    file.write(f"{left}\n")
            ended = harmful.read_text(encoding="utf-8").splitlines() if harmful.exists() else []
            (folder / _FILE).write_bytes(bytes(_SIZE))
            with (folder / _FILE).open("r+b") as file:
                self._map = mmap.mmap(file.fileno(), _SIZE)
        self.harmful = frozenset(call for call, times in Counter(ended).items() if times >= _TWICE)
        self._length = 0

    def __repr__(self) -> str:
        return f"Calls({len(self.harmful)} harmful)"

    def under(self, name: str, method: str, url: str) -> _Under:
        """A call is under way as long as this is entered."""
        return _Under(self, call_as_told(name, method, url))

    def set(self, call: bytes) -> None:
        """A call begins, or none: it is over."""
        self._map[: max(self._length, len(call))] = call.ljust(self._length, b"\0")
        self._length = len(call)

    def is_harmful(self, name: str, method: str, url: str) -> bool:
        """Did a worker end twice in the middle of this call?"""
        return call_as_told(name, method, url).decode() in self.harmful

    @staticmethod
    def harm(name: str, method: str, url: str) -> ApplicationEndedError:
        """That it did."""
        return ApplicationEndedError(
            f"{call_as_told(name, method, url).decode()} ended its process twice: it is left out"
        )

    def close(self) -> None:
        """Nothing is called any more. What is under way now ended its process: it stays noted."""
        self._map.close()


class _Under:
    """A call that is under way."""

    def __init__(self, calls: Calls, call: bytes) -> None:
        self._calls = calls
        self._call = call

    def __enter__(self) -> None:
        self._calls.set(self._call)

    def __exit__(self, *_: object) -> None:
        self._calls.set(b"")


def call_as_told(name: str, method: str, url: str) -> bytes:
    """A call as it is noted, and told.

    >>> call_as_told("mine:Walk", "visited", "http://a.test/")
    b'mine:Walk.visited(http://a.test/)'
    """
    text = f"{name}.{method}({url})".replace("\n", " ").encode("utf-8", "replace")
    return text if len(text) <= _SIZE else text[:_SIZE].decode("utf-8", "ignore").encode()


def call_of(folder: Path) -> str:
    """The call that the worker of this folder is in the middle of, or was when it ended; "" for none."""
    try:
        return (folder / _FILE).read_bytes().rstrip(b"\0").decode("utf-8", "replace")
    except OSError:
        return ""


def forget_harm(folder: Path) -> None:
    """The operator begins a run: what did harm before may have been mended."""
    with writing(folder):
        (folder / _HARMFUL).unlink(missing_ok=True)
