"""Signs of life of a worker, for other processes of its machine. In: the worker's folder. Out: which process it is, and
when it last gave a sign.

It is one small file: its text is the process, and why it stalls if it does; its time of change is the last sign. It
says nothing about whether the global frontier hears the worker: one that waits for that lives.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from weft.disk import writing

_FILE = "alive"
_LONGEST = 1000  # bytes of the text
_LEFT_OUT = "left-out"


class Vitals:
    """Writes the signs of life of one worker; the worker owns it, other processes only read the file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        with writing(self._path):
            self._path.write_text(f"{os.getpid()}\n", encoding="ascii")

    def __repr__(self) -> str:
        return f"Vitals({self._path})"

    def beat(self) -> None:
        """Still alive."""
        with writing(self._path):
            os.utime(self._path)

    def tell(self, why: str) -> None:
        """It stalls, or does not any more. The text takes the place of the one before: that also works on a full disk,
        if anything does.
        """
        text = f"{os.getpid()}\n{why}".encode()[:_LONGEST]
        with suppress(OSError):
            file = os.open(self._path, os.O_WRONLY)
            try:
                os.pwrite(file, text, 0)
                os.ftruncate(file, len(text))
            finally:
                os.close(file)


def note_left_out(folder: Path, why: str) -> None:
    """The worker of a folder kept dying, and is not started again in this run."""
    with writing(folder / _LEFT_OUT):
        (folder / _LEFT_OUT).write_text(f"{why}\n", encoding="utf-8")


def forget_left_out(folder: Path) -> None:
    """It may be started again."""
    with writing(folder):
        (folder / _LEFT_OUT).unlink(missing_ok=True)


def left_out(out: Path) -> dict[int, str]:
    """The workers of a crawl that were left out of its last run, with why."""
    return {
        int(path.parent.name): path.read_text(encoding="utf-8").strip()
        for path in sorted(out.glob(f"workers/*/{_LEFT_OUT}"))
        if path.parent.name.isdigit()
    }


def last_sign(folder: Path) -> float:
    """When the worker of a folder gave its last sign, by the clock of the file system; 0.0: never."""
    try:
        return (folder / _FILE).stat().st_mtime
    except OSError:
        return 0.0


def signs_of(folder: Path) -> dict[int, float]:
    """The last signs of all workers whose folders are in this one, by their numbers."""
    try:
        with os.scandir(folder) as entries:
            return {int(own.name): last_sign(Path(own.path)) for own in entries if own.name.isdigit()}
    except OSError:  # no worker has begun
        return {}


def process_of(folder: Path) -> int | None:
    """The process of the worker of a folder, be it alive or not; None where there was none."""
    try:
        return int((folder / _FILE).read_text(encoding="utf-8", errors="replace").partition("\n")[0])
    except (OSError, ValueError):
        return None


def stall_of(folder: Path) -> str:
    """Why the worker of a folder stalls, as it told; "" where it does not."""
    try:
        return (folder / _FILE).read_text(encoding="utf-8", errors="replace").partition("\n")[2]
    except OSError:
        return ""


def lives(pid: int | None) -> bool:
    """Is there a process? One that has ended, and that nobody has waited for yet, is none."""
    if pid is None:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
