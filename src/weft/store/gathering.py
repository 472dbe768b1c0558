"""Sealed volumes that wait to move to a store. In: a crawl's directory. Out: which they are, and whether they are too
many.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from weft.store.places import VOLUMES, volume_folders
from weft.store.volumes import Storing

_ENDING = ".warc.gz"


class Waiting(NamedTuple):
    """A volume under its final name."""

    name: str  # as commits and lists call it
    path: Path
    length: int


def waiting_volumes(root: Path) -> list[Waiting]:
    """The sealed volumes that are here, the oldest first."""
    found: list[tuple[int, Waiting]] = []
    for folder in volume_folders(root):
        for path in folder.glob(f"*{_ENDING}"):
            with suppress(FileNotFoundError):  # it was uploaded in this moment
                about = path.stat()
                found.append((about.st_mtime_ns, Waiting(f"{VOLUMES}/{path.name}", path, about.st_size)))
    return [waiting for _, waiting in sorted(found)]


def gathering(root: Path, settings: Storing) -> str:
    """Why no more volumes can be kept here; "" where they can."""
    length = sum(waiting.length for waiting in waiting_volumes(root))
    if length <= settings.store_gathers:
        return ""
    return (
        f"{length / 1e6:,.1f} MB of sealed volumes wait for {settings.store}, which is away or slow, and at most "
        f"{settings.store_gathers / 1e6:,.1f} MB may (--store-gathers)"
    )
