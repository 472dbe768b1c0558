"""Where simulated workers put pages: a volume of one line a fetch. In: outcomes. Out: lines, in files that grow and are
sealed by weft's own code.

`weft.store.store.Store` writes four kinds of files and compresses them, which would take most of a run's time. What
matters here is when a line counts: by the marks of commits, the cutting back after a crash, the sealing behind two
further commits. All of that is `weft.store.files` and `weft.store.sealing`, as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import msgspec

from weft.errors import WeftError
from weft.events import Fetched
from weft.model import Page, Turn
from weft.store.files import OPEN, SETTLED, Growing, Mark, last_number
from weft.store.sealing import cut_back, final_path, seal
from weft.store.volumes import Stored

_FULL = 4_000  # bytes after which a volume is closed


class Line(msgspec.Struct, frozen=True):
    """A fetch that was written down."""

    url: str
    kind: int
    status: int
    reason: str
    final: bool
    stored: bool
    worker: int


class _Contents:
    """Nothing is known of contents: no two pages have one."""

    copies = 0
    unremembered = 0

    def settle(self, commit: int) -> None:
        """Nothing to settle."""


class _Shelves:
    """One directory, whose disk takes everything: full ones are tested with real disks."""

    out_of_use: ClassVar[dict[Path, str]] = {}


class LineStore:
    """The store of one simulated worker."""

    def __init__(self, folder: Path, worker: int) -> None:
        self._folder = folder / "volumes"
        self._worker = worker
        self._growing: Growing | None = None
        self._lines: list[bytes] = []
        self._rolled: list[tuple[int, Growing]] = []
        self._closed: Growing | None = None  # the last that was, which may not be sealed yet
        self._commits = 0
        self.before = 0
        self._taken_up = 0
        self.contents = _Contents()
        self.shelves = _Shelves()

    def __repr__(self) -> str:
        return f"LineStore({self._growing})"

    def archive(self, turn: Turn, page: Page, *, cut: str, conversion: str = "") -> Stored:
        """It is written with its line."""
        del page, cut, conversion
        return Stored("", 0, 0, f"sha1:{turn.id}", 0)

    def note_page(self, fetched: Fetched, stored: Stored | None) -> None:
        """Write the line of a fetch."""
        outcome = fetched.outcome
        line = Line(
            outcome.turn.url,
            outcome.turn.kind,
            outcome.page.status,
            "" if outcome.reason is None else outcome.reason.value,
            outcome.final,
            stored is not None,
            self._worker,
        )
        self._lines.append(msgspec.json.encode(line) + b"\n")

    def note_links(self, source: int, targets: list[int], kinds: list[int], **_more: object) -> None:
        """Nobody asks for them."""

    def note_url(self, _id: int, _url: str) -> None:
        """Nobody asks for them."""

    def take_up(self, marks: dict[str, Mark], number: int) -> None:
        """Go on behind the last commit of an earlier life."""
        self._taken_up = number
        for path, name in cut_back(self._folder.parent, marks, self._worker):
            self._rolled.append((0, Growing(final_path(path), name, left=marks[name])))

    def mark(self) -> dict[str, Mark]:
        """Write everything given so far; how far every file is valid that is not sealed."""
        if self._lines:
            if self._growing is None:
                number = last_number(self._folder, self._worker) + 1
                self._growing = Growing(self._folder / f"sim-{self._worker}-{number:05d}.warc.gz")
            self._growing.write(b"".join(self._lines))
            self._lines = []
        self._commits += 1
        return {growing.name: growing.mark() for growing in self._all() if growing.length}

    def can_wait(self, _error: WeftError) -> bool:
        """No disk is full here."""
        return False

    def sync(self, *, durable: bool) -> None:
        """Have what is marked survive a power failure."""
        for growing in self._all():
            growing.sync(durable=durable)

    def roll(self, *, all_of_them: bool = False) -> None:
        """Close what is full."""
        if self._growing is not None and (all_of_them or self._growing.length > _FULL):
            self._rolled.append((self._commits, self._growing))
            self._growing = None

    def seal(self, commits: int) -> None:
        """Seal what so many commits have settled."""
        for each in [each for each in self._rolled if each[0] + SETTLED <= commits]:
            each[1].close()
            self._closed = each[1]
            number = self.before + each[0] if each[0] else self._taken_up
            seal(each[1].path, number=number, checksum=each[1].checksum)
            self._rolled.remove(each)

    def abandon(self) -> None:
        """Give back what is open: the process is gone."""
        for growing in self._all():
            if growing is not self._closed:
                growing.close()
        self._rolled, self._growing = [], None

    def _all(self) -> list[Growing]:
        return [growing for _, growing in self._rolled] + ([self._growing] if self._growing is not None else [])


def lines_of(folder: Path) -> list[Line]:
    """Every line that is there, of files that were sealed; those that still grow are not looked at."""
    found: list[Line] = []
    for path in sorted((folder / "volumes").glob("*")):
        if path.suffix != OPEN:
            found += [msgspec.json.decode(line, type=Line) for line in path.read_bytes().splitlines()]
    return found
