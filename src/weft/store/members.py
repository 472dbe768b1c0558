"""Records out of volumes, and volumes, wherever these are. In: a volume's name, a place and a length. Out: what stands
there.

A volume is in one of the crawl's directories, open or sealed, or in an object store, of which no more is read than the
record. It may be sealed, moved or uploaded while we look.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

from weft.errors import WeftError
from weft.store.files import OPEN
from weft.store.gathering import waiting_volumes
from weft.store.places import VOLUMES, places_of
from weft.store.stored import Stored, stored_volumes

_READ = 1 << 20  # bytes at a time


class Volumes:
    """The volumes of a crawl, for who reads them, also while it runs. No file is kept open."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._stored: dict[str, Stored] = {}

    def __repr__(self) -> str:
        return f"Volumes({self._out})"

    def member(self, volume: str, offset: int, length: int) -> bytes:
        """A record, unpacked."""
        where = self._out / VOLUMES / volume
        said: Exception | None = None
        for path in self._local(volume):
            where = path
            try:
                with path.open("rb") as file:
                    file.seek(offset)
                    return zlib.decompress(file.read(length), wbits=31)
            except FileNotFoundError:
                continue
            except (OSError, zlib.error) as error:  # an older copy may be shorter
                said = error
        stored = self._in_store(volume)
        if stored is not None:
            from weft.store.objects import read_range  # where one is needed only

            try:
                return zlib.decompress(read_range(stored.url, offset, length), wbits=31)
            except zlib.error as error:
                raise _unreadable(error, f"{stored.url}, offset {offset}") from error
        raise _unreadable(said or FileNotFoundError("there is no such volume"), f"{where}, offset {offset}") from said

    def sealed(self) -> dict[str, int]:
        """The volumes that are sealed, by their names: how long each is."""
        found = {each.name.rpartition("/")[2]: each.length for each in waiting_volumes(self._out)}
        found |= {name.rpartition("/")[2]: each.length for name, each in stored_volumes(self._out).items()}
        return dict(sorted(found.items()))

    def chunks(self, volume: str) -> Iterator[bytes]:
        """A sealed volume, from its beginning to its end."""
        for path in places_of(self._out, f"{VOLUMES}/{volume}"):
            try:
                with path.open("rb", buffering=0) as file:
                    while data := file.read(_READ):
                        yield data
            except FileNotFoundError:  # it is elsewhere, or was uploaded in this moment
                continue
            return
        stored = self._in_store(volume)
        if stored is None:
            where = str(self._out / VOLUMES / volume)
            raise WeftError("there is no such volume", where=where, todo="see what `weft repair --check` says")
        from weft.store.objects import chunks  # where one is needed only

        yield from chunks(stored.url)

    def _local(self, volume: str) -> Iterator[Path]:
        """Where it may be; twice, because it may be sealed while we look."""
        places = places_of(self._out, f"{VOLUMES}/{volume}")
        for path in places:
            yield path.with_name(path.name + OPEN)
            yield path

    def _in_store(self, volume: str) -> Stored | None:
        name = f"{VOLUMES}/{volume}"
        if name not in self._stored:
            self._stored = stored_volumes(self._out)
        return self._stored.get(name)


def _unreadable(error: Exception, where: str) -> WeftError:
    return WeftError(f"cannot read the record: {error}", where=where, todo="is the volume whole?")
