"""Which pages are, or were, dangerous to read. In: their ids, before and after. Out, after a crash: the page that was
being read then, and those before it whose outcome was never committed.

A parser written in C can end the process; memory that is shared with a file outlives it. A page stays a suspect until
its outcome is on disk: whatever ends a worker meanwhile, all suspects are read apart by the next.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

_ID = struct.Struct("<Q")
_PLACES = 1024  # the first for the page that is being read, the others for suspects; of more the oldest is forgotten
_SIZE = _PLACES * _ID.size


class Marker:
    """Notes in a file that survive the process, not the machine."""

    def __init__(self, path: Path) -> None:
        left = path.read_bytes() if path.exists() else b""
        if len(left) not in (_ID.size, _SIZE):  # an earlier version had one place
            left = b""
        last, *before = [page for (page,) in _ID.iter_unpack(left)] or [0]
        ids = [page for page in (*before, last) if page]
        self.suspects = dict.fromkeys(ids[1 - _PLACES :])  # pages that a process was reading when it died
        path.write_bytes(self._content())
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _SIZE)

    def __repr__(self) -> str:
        return f"Marker({len(self.suspects)} suspects)"

    def set(self, page: int) -> None:
        """A page is about to be read, or 0: it has been."""
        _ID.pack_into(self._map, 0, page)

    def clear(self, page: int) -> None:
        """A suspect's outcome is on disk: it is none any more."""
        if page in self.suspects:
            del self.suspects[page]
            if not self._map.closed:
                self._map[_ID.size :] = self._content()[_ID.size :]

    def close(self) -> None:
        """Nothing is being read any more. Suspects that were not come to stay what they are."""
        self.set(0)
        self._map.close()

    def _content(self) -> bytes:
        ids = [0, *self.suspects]
        return b"".join(map(_ID.pack, ids + [0] * (_PLACES - len(ids))))
