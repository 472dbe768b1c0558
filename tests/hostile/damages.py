"""Damages to the files of a crawl that does not run: what bad disks, half copies and restored backups leave.

Each is a function that does one bad thing to one file; `strike` chooses one, and the file, by a random number.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path, Path, random.Random], bool]
# What nobody relies on: the lock has no content, SQLite makes its index anew.
_NOTHING = {".lock", "frontier.db-shm"}


def flip(path: Path, _older: Path, chance: random.Random) -> bool:
    """A bit is another."""
    size = path.stat().st_size
    if not size:
        return False
    with path.open("r+b") as file:
        at = chance.randrange(size)
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << chance.randrange(8)]))
    return True


def cut(path: Path, _older: Path, chance: random.Random) -> bool:
    """The end is missing."""
    size = path.stat().st_size
    if not size:
        return False
    with path.open("r+b") as file:
        file.truncate(chance.randrange(size))
    return True


def zero(path: Path, _older: Path, chance: random.Random) -> bool:
    """A block is all zeros."""
    size = path.stat().st_size
    if not size:
        return False
    with path.open("r+b") as file:
        at = chance.randrange(size)
        file.seek(at)
        file.write(bytes(min(4096, size - at)))
    return True


def remove(path: Path, _older: Path, _chance: random.Random) -> bool:
    """The file is gone."""
    path.unlink()
    return True


def swap(path: Path, older: Path, _chance: random.Random) -> bool:
    """The file is as it was some time ago."""
    if not older.exists() or older.read_bytes() == path.read_bytes():
        return False
    shutil.copyfile(older, path)
    return True


DAMAGES: tuple[Damage, ...] = (flip, cut, zero, remove, swap)


def strike(crawl: Path, older: Path, chance: random.Random) -> str:
    """Do one bad thing to one file of a crawl; `older` is a copy of it from some time before. What was done. Each is
    as frequent as any other, however few files it can be done to.
    """
    files = [path for path in sorted(crawl.rglob("*")) if path.is_file() and path.name not in _NOTHING]
    damage = chance.choice(DAMAGES)
    for path in chance.sample(files, len(files)):
        name = path.relative_to(crawl)
        if damage(path, older / name, chance):
            return f"{damage.__name__} {name}"
    raise AssertionError("nothing can be done to any file")


def contents_of(crawl: Path) -> dict[str, bytes]:
    """What is in a crawl's directory and must not vanish: everything but the logs for people."""
    names = {path.relative_to(crawl): path for path in sorted(crawl.rglob("*")) if path.is_file()}
    return {str(name): path.read_bytes() for name, path in names.items() if name.parts[0] not in ("log", ".lock")}
