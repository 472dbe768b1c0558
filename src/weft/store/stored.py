"""The list of volumes that moved to an object store: `stored.log` in a crawl's directory. In: volumes whose objects
were checked. Out: where each of them is.

A line has a checksum of its own, the name, the length and the checksum of the content, the object's entity tag, and its
URL. It is on disk before the local file is removed, and one is enough: whoever looks for a volume finds it here or in a
directory, at any moment. Lines that are cut or bad count as none; then the local file is still there, or the volume
counts as missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from isal import isal_zlib

from weft.disk import append_lines

STORED = "stored.log"


class Stored(NamedTuple):
    """A volume in an object store."""

    name: str  # as commits and lists call it
    length: int
    checksum: int  # as in `sealed.log`
    tag: str  # the entity tag of the object
    url: str  # such as s3://bucket/prefix/NAME

    def line(self) -> bytes:
        """As it stands in the list."""
        text = " ".join(map(str, self)).encode()
        return b"%08x %s\n" % (isal_zlib.crc32(text), text)


def note_stored(root: Path, volume: Stored) -> None:
    """Write down where a volume is, for good."""
    append_lines(root / STORED, volume.line())


def stored_volumes(root: Path) -> dict[str, Stored]:
    """Every volume that is in a store, by its name."""
    found: dict[str, Stored] = {}
    path = root / STORED
    for line in path.read_bytes().splitlines() if path.exists() else ():
        checksum, _, text = line.partition(b" ")
        fields = text.decode(errors="replace").split(" ")
        if checksum == b"%08x" % isal_zlib.crc32(text) and len(fields) == len(Stored._fields):
            name, length, content, tag, url = fields
            found[name] = Stored(name, int(length), int(content), tag, url)
    return found


def stored_names(root: Path) -> frozenset[str]:
    """The names of these alone."""
    return frozenset(stored_volumes(root)) if (root / STORED).exists() else frozenset()
