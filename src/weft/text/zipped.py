"""Members of zip archives, within bounds. In: an archive's bytes. Out: its members in chunks, no more of them together
than a limit, whatever the archive says of their sizes.
"""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator

from weft.text.gathering import Gathering, Stopped, Why

_CHUNK = 1 << 16
MOST_EXPANDED = 200_000_000  # bytes that the members of one archive unpack to, together
_ENCRYPTED = 1  # in the flags of a member
# What the library raises on archives that are not as they should be: offsets before the beginning, sizes that no system
# has, members in codings that it lacks or that are broken.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class Archive:
    """A zip archive in memory."""

    def __init__(self, body: bytes, into: Gathering, most: int | None = None) -> None:
        self._into = into
        self._left = MOST_EXPANDED if most is None else most
        try:
            self._file = zipfile.ZipFile(io.BytesIO(body))
        except _BROKEN as error:
            raise Stopped(Why.BROKEN) from error
        self.names = self._file.namelist()

    def __repr__(self) -> str:
        return f"Archive({len(self.names)} members, {self._left} bytes left)"

    def check_sizes(self) -> None:
        """Raise `Stopped` where the archive itself says that it unpacks to too much: for who hands it on as a whole."""
        if any(member.flag_bits & _ENCRYPTED for member in self._file.infolist()):
            raise Stopped(Why.ENCRYPTED)
        if sum(member.file_size for member in self._file.infolist()) > self._left:
            raise Stopped(Why.EXPANSION)

    def chunks(self, name: str) -> Iterator[bytes]:
        """A member, bit by bit."""
        try:
            member = self._file.getinfo(name)
            if member.flag_bits & _ENCRYPTED:
                raise Stopped(Why.ENCRYPTED)
            with self._file.open(member) as file:
                while chunk := file.read(_CHUNK):
                    self._left -= len(chunk)
                    if self._left < 0:
                        raise Stopped(Why.EXPANSION)
                    self._into.check()
                    yield chunk
        except _BROKEN as error:
            raise Stopped(Why.BROKEN) from error

    def read(self, name: str) -> bytes:
        """A member as a whole."""
        return b"".join(self.chunks(name))
