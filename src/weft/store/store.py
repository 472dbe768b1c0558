"""The store of one worker: volumes, columns and what it knows of contents. In: pages and what was found out. Out:
records and rows.

`mark` writes everything given so far and says how far each file is valid; `sync` has that survive a power failure;
`roll` closes files that are full, and `seal` gives them their final form; with the last of them each URL is left once.
What cannot be taken back waits: a file is sealed only when two further commits are on disk, so that a crawl that loses
its last commits finds the files as they were.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa

from weft.clock import Clock, SystemClock
from weft.disk import disk_fault, is_full
from weft.errors import WeftError
from weft.events import Fetched
from weft.model import Fills, Kind, Page, Turn
from weft.store.columns import LINKS, PAGES, URLS, Journal, LinkJournal, PageJournal, UrlJournal
from weft.store.contents import Contents
from weft.store.extra import PREFIX, Checked, Extra, TableJournal
from weft.store.files import OPEN, SETTLED, Growing, Mark
from weft.store.once import drop_repeats
from weft.store.places import VOLUMES, volume_folders, writing_folders
from weft.store.rows import page_row
from weft.store.sealing import cut_back, final_path, give_back_memory, left_contents, part_number, seal
from weft.store.shelves import Shelves
from weft.store.volumes import Stored, Storing, Volumes, payload_digest

_ROBOTS = int(Kind.ROBOTS)
_SHARE = 20  # of a run's time: no more than the last twentieth of it is in open parts


class Store:
    """Where a worker's pages go."""

    def __init__(  # noqa: PLR0913  what it is made of
        self,
        folder: Path,
        settings: Storing,
        *,
        info: dict[str, str],
        chance: random.Random,
        secret: bytes = b"",
        worker: int = 0,
        pulse: Callable[[], None] = lambda: None,
        clock: Clock | None = None,
        digest: Callable[[bytes], bytes] = payload_digest,
        stages: Sequence[Fills] = (),
        say: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self._digest = digest
        self.extra = Extra(stages)
        self._folder = folder
        self._pulse = pulse  # called while something takes long
        self._settings = settings
        self._worker = worker
        self._clock = clock or SystemClock()
        places = writing_folders(folder, settings.volumes)
        self.shelves = Shelves(places, self._clock, volume_bytes=settings.volume_bytes, say=say)
        known = [*volume_folders(folder), *places]
        own = folder / VOLUMES
        self._volumes = Volumes(own, settings, info, chance, worker=worker, shelves=self.shelves, known=known)
        schema = pa.schema([*PAGES, *self.extra.fields]) if self.extra.fields else PAGES
        self._pages_journal = Journal(folder / "pages", schema, worker=worker)
        self._pages = PageJournal(self._pages_journal)
        self._links_journal = Journal(folder / "links", LINKS, worker=worker)
        self._links = LinkJournal(self._links_journal)
        self._urls_journal = Journal(folder / "urls", URLS, worker=worker)
        self._journals: tuple[Journal, ...] = (self._pages_journal, self._links_journal, self._urls_journal)
        self._tables: dict[str, TableJournal] = {}  # by stage
        for name, table in self.extra.tables.items():
            journal = Journal(folder / f"{PREFIX}{name}", table, worker=worker)
            self._tables[name] = TableJournal(journal)
            self._journals += (journal,)
        self._rolled: list[tuple[int, Growing]] = []  # full files, each with the commit that holds all of it
        self._commits = 0
        self._started = self._clock.now()
        self._begun: float | None = None  # when the oldest open part of the columns was first seen
        self.before = 0  # the number of the last commit of the run before
        self._taken_up = 0  # the same, of those that are not lost
        self._ending = False  # everything was rolled, and nothing more comes
        self._urls = UrlJournal(self._urls_journal)
        self.note_url = self._urls.append  # a URL that was seen for the first time: id, text
        self.contents = Contents(folder / "contents", worker, secret)
        self.bytes = 0  # of contents

    def __repr__(self) -> str:
        return f"Store({self._volumes}, {self._pages_journal})"

    def archive(self, turn: Turn, page: Page, *, cut: str, conversion: str = "") -> Stored:
        """Write a request and its answer to the volume, and a text that was made of it."""
        digest = self._digest(page.body)
        original = None
        if page.body and not cut and turn.kind != _ROBOTS:  # whoever reads a robots.txt back finds it in its place
            original = self.contents.first(digest, turn.id, page.url, page.fetched_at)
        self.bytes += len(page.body)
        return self._volumes.store(page, digest, original, cut=cut, conversion=conversion)

    def note_page(self, fetched: Fetched, stored: Stored | None) -> None:
        """Write the row of a fetch, and where its record lies."""
        row = page_row(fetched, stored, self._worker, self.before + self._commits + 1)
        if self.extra.columns:
            row.extra = self.extra.row(fetched.staged)
        self._pages.append(row)

    def note_rows(self, checked: Checked) -> None:
        """Write rows of a stage's table."""
        if checked.batch is not None:
            self._tables[checked.stage].append(checked.batch)

    def note_links(
        self,
        source: int,
        targets: list[int],
        kinds: list[int],
        *,
        nofollow: bool = False,
        labels: list[tuple[str, str]] | None = None,
    ) -> None:
        """Write links of a page: those that are followed, or those that ask not to be."""
        if targets:
            self._links.append(source, targets, kinds, nofollow=nofollow, labels=labels)

    # Commits.

    def take_up(self, marks: dict[str, Mark], number: int) -> None:
        """Go on behind the last commit of an earlier run, which has this number and these marks: what is open is cut
        back to it, and sealed when two further commits are on disk. Until then that commit may yet be lost.
        """
        self._taken_up = number
        for path, name in cut_back(self._folder, marks, self._worker):
            self._rolled.append((0, Growing(final_path(path), name, left=marks[name])))
            if path.parent.name == "pages":
                self.contents.take_up(left_contents(path))
        self.contents.mark(0)  # settled with what is sealed

    def mark(self) -> dict[str, Mark]:
        """Write everything given so far; how far every file is valid that is not sealed."""
        self._volumes.flush()
        self._pages.flush()
        self._links.flush()
        self._urls.flush()
        for table in self._tables.values():
            table.flush()
        self._commits += 1
        self.contents.mark(self._commits)
        return {growing.name: growing.mark() for growing in self._growing() if growing.length}

    def sync(self, *, durable: bool = True) -> None:
        """Have what is marked survive a power failure, or the end of the process alone; for a thread beside the one
        that writes. Where a disk takes no more it is an error, and can be tried again: nothing is lost meanwhile.
        """
        volumes = [growing for growing in self._growing() if growing.name.startswith(VOLUMES)]
        self.shelves.sync(volumes, self._commits, durable=durable)
        for growing in self._growing():
            growing.sync(durable=durable)

    def can_wait(self, error: WeftError) -> bool:
        """Is it a disk that may take it later: a full one, or one for volumes alone?"""
        fault = disk_fault(error)
        return is_full(error) or (fault is not None and Path(error.where).parent in self.shelves.out_of_use)

    def roll(self, *, all_of_them: bool = False) -> None:
        """Close the files that are full; to be called right behind a mark, so that it holds all of them."""
        most = 1 if all_of_them or self._is_old() else self._settings.part_bytes
        full = self._volumes.roll(1 if all_of_them else None)
        for journal in self._journals:
            full += journal.roll(most)
        self._rolled += [(self._commits, growing) for growing in full]
        self._ending = all_of_them

    def _is_old(self) -> bool:
        """Are the open parts old enough to be sealed? All are at once: then what others see is that of one commit.

        Their age grows with the run's, so that a run of any length leaves few of them: some 110 in a day, and 15 more
        each time that it lasts twice as long.
        """
        if not any(journal.growing for journal in self._journals):
            self._begun = None
            return False
        now = self._clock.now()
        if self._begun is None:
            self._begun = now
        age = max(self._settings.part_seconds, (now - self._started) / _SHARE)
        if self._settings.part_seconds <= 0 or now - self._begun < age:
            return False
        self._begun = None
        return True

    def seal(self, commits: int) -> None:
        """Seal what so many commits have settled, and let other workers know its contents; for a thread beside the one
        that writes.
        """
        self.shelves.remove_old(commits - SETTLED)
        self.contents.settle(commits - SETTLED)
        settled = [each for each in self._rolled if each[0] + SETTLED <= commits]
        for each in settled:
            growing = each[1]
            growing.close()
            number = self.before + each[0] if each[0] else self._taken_up
            try:
                self._seal(growing, number)
            except WeftError as error:
                if disk_fault(error) is None or not growing.name.startswith(VOLUMES):
                    raise
                self.shelves.save(growing, error, self._commits)
                growing.close()
                self._seal(growing, number)
            self._rolled.remove(each)
            if growing.path.parent.name == "pages":
                self.contents.sealed(part_number(growing.path))
        if settled:
            give_back_memory()
        if self._ending and not self._rolled:
            self.contents.close()
            drop_repeats(self._folder / "urls", self._pulse)

    def _seal(self, growing: Growing, number: int) -> None:
        whole = growing.checksum if growing.path.suffixes[-2:] == [".gz", OPEN] else None
        seal(growing.path, number=number, checksum=whole, root=self._folder)

    def _growing(self) -> list[Growing]:
        found = [growing for _, growing in list(self._rolled)]  # a thread may take some out meanwhile
        found += self._volumes.growing
        for journal in self._journals:
            found += journal.growing
        return found
