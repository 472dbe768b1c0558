"""The end of a crawl, asked for from another thread. In: that it is to stop, and why. Out: whoever runs it is told.

Signals reach the main thread alone. A crawl that runs in another one is told to stop by this; the first time pages
under way may finish, the second time not, as with Ctrl-C.

>>> stopping = Stopping()
>>> stopping.tell("interrupted")
>>> with stopping.heard_by(print):
...     stopping.tell("cancelled")
interrupted
cancelled
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopping:
    """Between who wants a crawl to end and who runs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: list[str] = []
        self._listener: Callable[[str], object] | None = None

    def __repr__(self) -> str:
        return f"Stopping({', '.join(self._told)})"

    def tell(self, why: str) -> None:
        """Have the crawl stop. What is said before anybody listens is heard then; when all is over, nothing happens."""
        with self._lock:
            self._told.append(why)
            if self._listener is not None:
                self._listener(why)

    @contextmanager
    def heard_by(self, listener: Callable[[str], object]) -> Iterator[None]:
        """Listen. The listener is called in the thread of who tells, and never after this is left."""
        with self._lock:
            self._listener = listener
            for why in self._told:
                listener(why)
        try:
            yield
        finally:
            with self._lock:
                self._listener = None


def is_main_thread() -> bool:
    """Is this the thread that signals come to?"""
    return threading.current_thread() is threading.main_thread()
