"""The list of sealed files: `sealed.log` in a crawl's directory. In: files that are about to get their final names.
Out: which files must be there, and whether they are as they were.

A line has a checksum of its own, the name, the length, the time of the last change, the checksum of the content, and
the commit that has all of it. It is on disk before the file has its name. A file that is rewritten has a further line,
and may be as any of them says. At a start only lengths and times are looked at; a file whose time is another, as it is
after a copy, is read once. Lines that are cut or bad count as none, and a file without a line is read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from isal import isal_zlib

from weft.disk import append_lines
from weft.store.places import folder_of

LIST = "sealed.log"
FOLDERS = ("pages", "links", "urls", "volumes")
_FINAL = (".parquet", ".cdxj", ".gz")


def folders(root: Path) -> list[str]:
    """Where sealed files are: the tables of stages have folders of their own."""
    return [*FOLDERS, *sorted(path.name for path in root.glob("stage-*") if path.is_dir())]


class Sealed(NamedTuple):
    """What is known of a sealed file."""

    name: str
    length: int
    changed: int  # nanoseconds
    checksum: int
    number: int = 0  # of the commit of its worker that has all of it; 0: of none

    def line(self) -> bytes:
        """As it stands in the list."""
        text = " ".join(map(str, self)).encode()
        return b"%08x %s\n" % (isal_zlib.crc32(text), text)


def note(root: Path, name: str, content: Path, *, number: int, checksum: int | None = None) -> None:
    """Write down a file that is about to get its final name."""
    append(root, [sealed_now(name, content, number=number, checksum=checksum)])


def sealed_now(name: str, content: Path, *, number: int = 0, checksum: int | None = None) -> Sealed:
    """A file as it is now."""
    about = content.stat()
    return Sealed(
        name, about.st_size, about.st_mtime_ns, checksum_of(content) if checksum is None else checksum, number
    )


def append(root: Path, files: list[Sealed]) -> None:
    """Add lines to the list."""
    append_lines(root / LIST, b"".join(each.line() for each in files))


def listed(root: Path) -> dict[str, list[Sealed]]:
    """What the list says, by name; bad lines are left out."""
    found: dict[str, list[Sealed]] = {}
    path = root / LIST
    for line in path.read_bytes().splitlines() if path.exists() else ():
        checksum, _, text = line.partition(b" ")
        fields = text.decode(errors="replace").split(" ")
        if checksum == b"%08x" % isal_zlib.crc32(text) and len(fields) == len(Sealed._fields):
            found.setdefault(fields[0], []).append(Sealed(fields[0], *map(int, fields[1:])))
    return found


def final_files(root: Path) -> Iterator[tuple[str, Path]]:
    """The files that have their final names, each with the name that the list knows it by."""
    for folder in folders(root):
        for place in folder_of(root, folder):
            for path in sorted(place.iterdir()) if place.is_dir() else ():
                if path.suffix in _FINAL and not path.name.startswith("."):
                    yield f"{folder}/{path.name}", path


def as_listed(path: Path, lines: list[Sealed], *, read: bool = False) -> Sealed | None:
    """The line that a file agrees with, or None; its content is read where its time is another, or when asked to."""
    about = path.stat()
    fitting = [line for line in lines if line.length == about.st_size]
    if not fitting:
        return None
    for line in fitting:
        if line.changed == about.st_mtime_ns and not read:
            return line
    checksum = checksum_of(path)
    return next((line._replace(changed=about.st_mtime_ns) for line in fitting if line.checksum == checksum), None)


def checksum_of(path: Path, pulse: Callable[[], None] = lambda: None) -> int:
    """Of a file's content."""
    checksum = 0
    with path.open("rb", buffering=0) as file:
        while data := file.read(1 << 20):
            checksum = isal_zlib.crc32(data, checksum)
            pulse()
    return checksum
