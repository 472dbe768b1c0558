"""Sealed volumes move to a store: `python -m weft.store.uploads DIRECTORY URL PARENT`. In: volumes as they are sealed.
Out: the same as objects, and a list of where they are (`stored.log`).

The steps for a volume, of which each may be repeated after a crash:

1. read it: it must be as `sealed.log` says;
2. upload its index, which also stays here, and the volume, unless the store has them already;
3. check both there, by length and entity tag;
4. write the volume down in `stored.log`, for good;
5. remove the file.

So a volume is here or in the store at any moment, and for a while in both. While the store does not answer files stay
here, and it is asked again; the workers see by themselves when too many have gathered. It is a process beside the
crawl, which ends when its input does: then everything that is left is tried once more.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from weft.clock import Clock, SystemClock
from weft.disk import sync_folder, writing
from weft.errors import WeftError
from weft.processes import die_with_parent
from weft.store.gathering import Waiting, waiting_volumes
from weft.store.objects import StoreAwayError, content_of, is_there, upload
from weft.store.places import located
from weft.store.sealed import listed
from weft.store.stored import Stored, note_stored, stored_volumes

LEFT = 3  # the exit code where some volumes are still here
_LOOK = 0.5  # seconds between two looks for sealed volumes
_SHORTEST, _LONGEST = 1.0, 30.0  # seconds until a store that is away is asked again


class Uploads:
    """Moves the volumes of one crawl."""

    def __init__(self, root: Path, url: str, clock: Clock, say: Callable[[str], None]) -> None:
        self._root = root
        self._url = url.rstrip("/")
        self._clock = clock
        self._say = say
        self._away_since: float | None = None
        self._pause = _SHORTEST
        self._not_before = 0.0
        self._bad: set[str] = set()  # volumes that are not what was sealed

    def __repr__(self) -> str:
        return f"Uploads({self._url})"

    def look(self, *, last: bool = False) -> int:
        """Move what is sealed by now, unless the store is to be left alone; how many volumes are left here."""
        waiting = [each for each in waiting_volumes(self._root) if each.name not in self._bad]
        if not waiting or (self._clock.now() < self._not_before and not last):
            return len(waiting) + len(self._bad)
        left = len(waiting)
        try:
            for each in waiting:
                left -= self._move(each)
                self._answered()
        except StoreAwayError as error:
            self._note_away(error, left)
        return left + len(self._bad)

    def _move(self, volume: Waiting) -> bool:
        """Move a volume, whatever was done of that before."""
        content = content_of(volume.path)
        lines = listed(self._root).get(volume.name, [])
        if lines and all((line.length, line.checksum) != content[:2] for line in lines):
            self._bad.add(volume.name)
            self._say(f"{volume.path} is not as it was when it was sealed, and is not uploaded: see weft repair")
            return False
        index = located(self._root, volume.name.removesuffix(".warc.gz") + ".cdxj")
        if index.exists():
            self._put(index)
        url = self._put(volume.path)
        line = Stored(volume.name, content.length, content.checksum, content.tag, url)
        if stored_volumes(self._root).get(volume.name) != line:
            note_stored(self._root, line)
        with writing(volume.path):
            volume.path.unlink()
            sync_folder(volume.path.parent)
        return True

    def _put(self, path: Path) -> str:
        """Have a file in the store, and see that it is there."""
        content, url = content_of(path), f"{self._url}/{path.name}"
        if not is_there(url, content):
            upload(path, url)
            if not is_there(url, content):
                raise StoreAwayError("what was uploaded is not what the store has", where=url, todo="it is tried again")
        return url

    def _note_away(self, error: StoreAwayError, left: int) -> None:
        now = self._clock.now()
        if self._away_since is None:
            self._away_since = now
            self._say(f"{error}; {left} sealed volumes wait here, and it is asked again")
        self._not_before = now + self._pause
        self._pause = min(2 * self._pause, _LONGEST)

    def _answered(self) -> None:
        if self._away_since is not None:
            self._say(f"{self._url} answers again after {self._clock.now() - self._away_since:.0f} s")
        self._away_since, self._pause = None, _SHORTEST


def main(arguments: list[str]) -> int:
    """Run beside a crawl, and end with it."""
    root, url, parent = Path(arguments[0]), arguments[1], int(arguments[2])
    die_with_parent(parent)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a service manager tells all processes; the crawl ends this one

    def say(text: str) -> None:
        sys.stderr.write(f"weft: store: {text}\n")
        sys.stderr.flush()

    uploads = Uploads(root, url, SystemClock(), say)
    try:
        while not _ended(_LOOK):
            uploads.look()
        left = uploads.look(last=True)
    except WeftError as error:
        say(str(error))
        return error.exit_code
    return LEFT if left else 0


def _ended(seconds: float) -> bool:
    """Has the input ended? It is waited for so long."""
    if not select.select([0], [], [], seconds)[0]:
        return False
    if os.read(0, 1024):
        time.sleep(seconds)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
