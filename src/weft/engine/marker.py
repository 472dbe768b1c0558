"""Which page is being read. In: its id, before and after. Out, after a crash: the page that was being read then.

A parser written in C can end the process; memory that is shared with a file outlives it.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

_ID = struct.Struct("<Q")


class Marker:
    """A note in a file that survives the process, not the machine."""

    def __init__(self, path: Path) -> None:
        if not path.exists() or path.stat().st_size != _ID.size:
            path.write_bytes(_ID.pack(0))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _ID.size)
        self.left = int(_ID.unpack(self._map[:])[0])  # the page that the last process was reading when it died, or 0
        self.set(0)

    def __repr__(self) -> str:
        return f"Marker(left at {self.left:016x})"

    def set(self, page: int) -> None:
        """A page is about to be read, or 0: it has been."""
        _ID.pack_into(self._map, 0, page)

    def close(self) -> None:
        """Nothing is being read any more."""
        self.set(0)
        self._map.close()
