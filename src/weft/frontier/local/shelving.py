"""Which groups are put away, and which come back. In: how much a worker may know at a time, and how things stand. Out:
no more than that is in memory; what was put away comes back when its turn comes.

Numbers of pages and sites are given once, in the order of discovery. What is known lies between the first number that
is in use and the last; when that is too much, every group goes to the shelf that has one of the first. So what lies
in memory in front is all free, and is given back. Of what is on the shelf the best comes back, under new numbers, as
soon as too few sites are ready; a group that is merely old comes back at once.

A group on the shelf is to the rest of the frontier like one that another worker holds, who sleeps: links to it, and
whatever else is for it, are notices (`holdings`), which are part of the commit and wait as mail. It is put away by one
commit and comes back by one; both name it. Until the next checkpoint its pages are in the logs; that moves them to a
run (`durable.shelf`), and only from there they come back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.compiled import release
from weft.frontier.durable.past import GONE, Past
from weft.frontier.durable.putting_away import Whole, decoded, floor
from weft.frontier.durable.records import Commit, Shelved
from weft.frontier.durable.shelf import MAIL, WHOLE, Piece, Shelf
from weft.frontier.durable.shelved import ASIDE, AWAY, NOTHING
from weft.frontier.local import shelf_index
from weft.frontier.local.arrivals import Arrivals
from weft.frontier.local.bounds import Bound
from weft.frontier.local.parts import Parts
from weft.frontier.local.seen import SHARDS, give_up, mark_sites, sweep
from weft.frontier.local.shelf_index import ShelfIndex
from weft.frontier.shared.contract import Found, Notice, RobotsBrought, RobotsWanted
from weft.model import PageNumber, SiteNumber
from weft.ordering.heaps import clear_all
from weft.store.files import damaged
from weft.urls import registered_domain

_KEEPS = 0.75  # of the bound: what is left when groups were put away
_AT_ONCE = 20_000  # groups that are put away by one commit, unless there is far too much
_READ_AT_ONCE = 1_000  # groups that are read between two commits
_PAGES_AT_ONCE = 20_000  # that come back with one commit, unless a group has more: so the loop is not kept for long
_FAR_TOO_MUCH = 1.25
_PATIENCE = 10.0  # seconds that what is here has, before it makes room for what is not
_ENOUGH = 2  # times as many sites ready as there are connections

_encode = msgspec.msgpack.Encoder().encode
_notices = msgspec.msgpack.Decoder(list[Notice]).decode


class _Read(NamedTuple):
    """What the shelf had of a group."""

    key: int
    checkpoint: int  # where it was read
    whole: Whole | None
    mail: list[Piece]


class Shelving:
    """The shelf of one local frontier, which owns it."""

    def __init__(self, parts: Parts, bound: Bound, arrivals: Arrivals, take_notice: Callable[[Notice], None]) -> None:
        self._parts = parts
        self._bound = bound
        self._arrivals = arrivals
        self._take_notice = take_notice
        self._clock = parts.clock
        self._heaps = parts.pages.heaps
        self._seen = parts.pages.seen
        self._key_of = self._seen.keyed.of
        self.index = ShelfIndex()
        self._began_in = 0  # the log that grew when this run began: what was put away before may have been visited
        self._log = 0  # the log that the next commit is in
        self._first = 0  # page in use
        self._first_site = 0
        self._dead = 0  # numbers that stand for no page any more
        self._swept = SHARDS  # shards of URL-seen without pages that are gone
        self._make_room = False
        self._keys: dict[str, int] = {}  # of groups that were asked for since the last commit
        self._made_room = 0.0  # when that was last so
        self._second: set[int] = set()  # keys of groups whose sites get a second chance
        self._urgent: dict[int, None] = {}  # keys of groups that somebody waits for
        self._too_large: int | None = None  # the key of a group that comes back though there is no room
        self._stays, self._stays_until = "", 0.0  # this group, once it is here: else it would go before a visit
        self._wanted: list[int] = []  # keys, to be read
        self._read: list[_Read] = []
        self._shelf: Shelf | None = None
        self._back: list[tuple[int, int]] = []
        # By key, of groups that are back and have mail which no checkpoint has yet: up to which one it was taken in.
        self._taken: dict[int, int] = {}
        self.hurry = False  # does somebody wait for a checkpoint?
        self.put, self.came = 0, 0  # groups, in this run
        parts.holdings.shelf = self

    def __repr__(self) -> str:
        return f"Shelving({self.index}, {self.put} put away, {self.came} back)"

    # How things stand.

    @property
    def groups(self) -> int:
        """Groups on the shelf."""
        return self.index.counts[shelf_index.GROUPS]

    @property
    def pending(self) -> int:
        """Pages on the shelf that are yet to be fetched, and links that may be such."""
        return self.index.counts[shelf_index.PENDING] + self.index.counts[shelf_index.MAIL]

    @property
    def known(self) -> int:
        """Pages that are known, here and there."""
        return int(self._seen.arrays.counts[0]) - self._dead + self.index.counts[shelf_index.PAGES]

    @property
    def aside(self) -> int:
        """Groups on the shelf that have a site which was set aside."""
        return self.index.counts[shelf_index.SET_ASIDE]

    @property
    def work(self) -> bool:
        """Is there something on the shelf that can be done without a second pass?"""
        return self.index.counts[shelf_index.WORK] > 0 or bool(self._read)

    @property
    def in_use(self) -> int:
        """Numbers of pages, from the first that is in use to the last."""
        return int(self._seen.arrays.counts[0]) - self._first

    def has(self, group: str) -> bool:
        """Is a group on the shelf?"""
        key = self._keys.get(group)
        if key is None:
            key = self._keys[group] = self._key_of(group)
        return self.index.has(key)

    def second_pass(self) -> None:
        """Nothing else is left: sites that were set aside get another chance."""
        rows = np.flatnonzero(self.index.arrays.flags[: self.index.counts[shelf_index.USED]] & ASIDE)
        self._second.update(self.index.arrays.key[rows].tolist())
        self.index.rouse()

    def restore(self, past: Past, log: int, set_back: float) -> None:
        """Take up what the files of a run before say; the clock was set back by so much since then."""
        self.index.load(past.shelved.rows(), self._clock.now(), self._clock.wall() + set_back)
        self._began_in = log
        for key, upto in past.returned:  # no checkpoint has it yet that they are back
            if self.index.find(key) >= 0:
                self._taken[key] = max(upto, self._taken.get(key, 0))
        self._first = floor(past)
        self._dead = past.first + int(np.count_nonzero(past.sites() == GONE))

    # Mail.

    def gather(self, notices: dict[str, list[Notice]], commit: Commit) -> None:
        """Take what is for groups on the shelf out of some notices; it is part of a commit. What is for groups that
        came back since it was found is taken in.
        """
        ours = self._parts.holdings.groups
        for group in [group for group in notices if group in ours]:
            for notice in notices.pop(group):
                self._take_notice(notice)
        newest = -float(self._seen.arrays.counts[0])
        for group in [group for group in notices if self.has(group)]:
            key, some = self._keys[group], notices.pop(group)
            commit.mail.append((key, len(some), self._worth_of(some, newest), _encode(some)))
            if not all(type(notice) is Found for notice in some) and any(
                isinstance(notice, RobotsWanted | RobotsBrought) for notice in some
            ):
                self._urgent[key] = None
        self.index.add_mail(commit.mail, self._log)
        self._keys = {}

    def _worth_of(self, notices: list[Notice], newest: float) -> float:
        """What links are worth to a group: as much as the best, or as the last page that was found."""
        if self._heaps.arrays.by_size:
            return float(len(notices))
        if not self._parts.pages.scored:
            return newest
        scores = [notice.score + notice.gain for notice in notices if isinstance(notice, Found) and notice.score]
        return max(scores, default=NOTHING)

    # Before a commit is packed: what comes back is part of it.

    def begin(self, log: int) -> None:
        """A commit is packed next, which is in this log: what was read comes back with it."""
        self._log = log
        read, self._read = self._read, []
        for group in read:
            self._take_back(group)

    def _take_back(self, read: _Read) -> None:
        key, upto, whole, mail = read
        row = self.index.find(key)
        if row < 0:
            return
        away, left_in = bool(self.index.arrays.flags[row] & AWAY), int(self.index.arrays.left_in[row])
        if away and left_in >= upto:
            return  # it came back and was put away again since it was asked for
        if away and whole is None:
            raise damaged("a group is missing that was put away", self._parts.pages.log.path)
        if whole is not None and away:
            self._parts.holdings.check_out(whole.group)
            ours = left_in >= self._began_in
            self._arrivals.take(whole.content, from_shelf=ours, second_chance=key in self._second)
            self.came += 1
            if key == self._too_large:
                self._too_large = None
                self._stays, self._stays_until = whole.group, self._clock.now() + _PATIENCE
        self._second.discard(key)
        self._urgent.pop(key, None)
        self.index.take(key, upto)
        self._back.append((key, upto))
        before = self._taken.pop(key, -1)  # a checkpoint that was begun before may still have it
        if self.index.find(key) >= 0:
            self._taken[key] = upto
        for piece in mail:
            for notice in _notices(piece.data) if piece.checkpoint > before else ():
                self._take_notice(notice)

    # Behind everything else of a commit: what is put away has left nothing behind.

    def pack(self, commit: Commit) -> None:
        """Write down what came back, and put away what is too much."""
        commit.unshelved, self._back = self._back, []
        self._sweep()
        seen, sites = self._seen.arrays, self._parts.sites
        used = self._used()
        share = 1 - _KEEPS if self._make_room else 0.0  # of the numbers that are in use
        if used > 1.0:
            share = 1 - _KEEPS / used
        self._make_room = False
        if not share:
            return
        first = self._first + int(share * (int(seen.counts[0]) - self._first))
        here = np.flatnonzero(sites.here[self._first_site : len(sites.names)]) + self._first_site
        first_site = int(here[int(share * len(here))]) if len(here) else self._first_site
        chosen = self._choose(first, first_site, capped=used < _FAR_TOO_MUCH)
        if chosen:
            commit.shelved = self._put_away(chosen)
        self._give_back()

    def _used(self) -> float:
        """How much of the bound is in use."""
        sites, rows = self._parts.sites, self.index.counts[shelf_index.ROWS]
        return self._bound.use(self.in_use, len(sites), sites.made, rows)

    def _choose(self, first: int, first_site: int, *, capped: bool) -> dict[str, list[SiteNumber]]:
        """Groups that have a page or a site before these, but for those that must stay."""
        sites = self._parts.sites
        marked = np.zeros(len(sites.names) + 1, np.bool_)
        mark_sites(self._seen.arrays, self._heaps.arrays, marked, self._first, first)
        marked[self._first_site : first_site] = True
        kept = {registered_domain(sites.names[number]) for number in self._parts.schedule.kept() if sites.names[number]}
        if self._clock.now() < self._stays_until:
            kept.add(self._stays)
        chosen: dict[str, list[SiteNumber]] = {}
        for number in np.flatnonzero(marked).tolist():
            if not sites.here[number]:
                continue
            group = registered_domain(sites.names[number])
            if group in chosen or group in kept or group not in self._parts.holdings.groups:
                continue
            members = sites.members.get(group)
            if members is None or self._index_taken(group):
                continue
            chosen[group] = members
            if capped and len(chosen) >= _AT_ONCE:
                break
        return chosen

    def _index_taken(self, group: str) -> bool:
        """Is another group on the shelf with the same key? Of five million, that is one chance in a million."""
        return self.index.has(self._key_of(group))

    def _put_away(self, chosen: dict[str, list[SiteNumber]]) -> list[Shelved]:
        parts, now = self._parts, self._clock.now()
        sites, heaps, seen = parts.sites, self._heaps.arrays, self._seen.arrays
        numbers = [number for members in chosen.values() for number in members]
        gone = np.zeros(len(sites.names) + 1, np.bool_)
        gone[numbers] = True
        waiting = self._forget_times(gone)
        offset = self._clock.wall() - now
        about = {group: self._about(group, members, waiting, now) for group, members in chosen.items()}
        special = [page for page in parts.specials.of if gone[heaps.owner[page]]]
        clear_all(heaps, np.array(numbers, np.int32))
        counts = np.zeros(len(gone), np.int32)
        head = int(seen.counts[0])
        self._first = give_up(seen, heaps, gone, counts, self._first, head)
        self._swept = 0
        parts.specials.put_away(special)
        parts.schedule.put_away(set(numbers))
        parts.redirects.chains.forget(self._first)
        shelved = []
        for group, members in chosen.items():
            pages = int(counts[members].sum())
            self._dead += pages
            key, pending, worth, at, aside = about[group]
            wall = at + offset if pending else 0.0
            shelved.append(Shelved(key, group, list[int](members), pending, pages, worth, wall, aside))
            flags = AWAY | (ASIDE if aside else 0)
            self.index.put(key, log=self._log, pending=pending, pages=pages, worth=worth, at=at, flags=flags)
            sites.members.pop(group, None)
            parts.holdings.groups.discard(group)
            for number in members:
                parts.robots.put_away(number)
                sites.put_away(number)
        self.put += len(shelved)
        return shelved

    def _about(
        self, group: str, members: list[SiteNumber], waiting: dict[int, tuple[int, float]], now: float
    ) -> tuple[int, int, float, float, bool]:
        """What is known of a group without its files: key, pending pages, worth, from when on, whether set aside."""
        heaps, scored = self._heaps.arrays, self._parts.pages.scored
        pending, worth, at, aside = 0, NOTHING, np.inf, False
        for number in members:
            here, (later, due) = int(heaps.length[number]), waiting.get(number, (0, np.inf))
            if not here and not later:
                continue
            rests, set_aside = self._parts.sites.rests(number)
            if set_aside:
                aside = True
                continue
            pending += here + later
            at = min(at, max(rests, now if here else due))
            if here:
                best = int(heaps.pool[heaps.block[number]])
                worth = max(worth, float(heaps.score[best]) if scored else -float(best))
        if heaps.by_size:
            worth = float(pending)
        return self._key_of(group), pending, worth, at if pending else 0.0, aside

    def _forget_times(self, gone: NDArray[np.bool_]) -> dict[int, tuple[int, float]]:
        """Forget when pages are due whose sites are gone; by site, how many, and when the first was."""
        due = self._parts.pages.due
        entries = due.entries()
        entries = entries[gone[due.arrays.site[entries]]]
        found: dict[int, tuple[int, float]] = {}
        for entry in entries.tolist():
            if due.arrays.place[entry] >= 0:
                site, at = int(due.arrays.site[entry]), float(due.arrays.at[entry])
                count, first = found.get(site, (0, np.inf))
                found[site] = (count + 1, min(first, at))
        for page in due.arrays.page[entries].tolist():
            due.forget(PageNumber(page))
        return found

    def _sweep(self) -> None:
        """Take pages that are gone out of a part of URL-seen."""
        if self._swept < SHARDS:
            sweep(self._seen.arrays, self._swept)
            self._swept += 1

    def _give_back(self) -> None:
        """Give back the memory of what was before the first page, and the first site, in use."""
        sites, heaps, seen = self._parts.sites, self._heaps.arrays, self._seen.arrays
        while self._first_site < len(sites.names) and not sites.here[self._first_site]:
            self._first_site += 1
        by_page: tuple[NDArray[Any], ...] = (seen.key, heaps.score, heaps.position, heaps.owner)
        for array in by_page:
            if array.size > 1:
                release(array, 0, self._first)
        self._parts.ranking.forget(self._first)
        by_site: tuple[NDArray[Any], ...] = (
            heaps.block,
            heaps.size_class,
            heaps.length,
            heaps.ready,
            heaps.at,
            seen.found,
            seen.most,
            sites.begun,
            sites.here,
        )
        for array in by_site:
            release(array, 0, self._first_site)

    # Behind a commit: what is wanted next, and reading it beside the loop.

    def look(self) -> None:
        """A commit is on disk: choose what comes back."""
        self._wanted = []
        base = self._parts.pages.log.base
        index, used = self.index.arrays, self.index.counts[shelf_index.USED]
        if not self.work or self._read:
            return
        politeness, schedule = self._parts.terms.politeness, self._parts.schedule
        need = _ENOUGH * politeness.connections - schedule.ready
        letters = self.index.counts[shelf_index.ROWS] - self.index.counts[shelf_index.GROUPS]  # for those that are here
        if need <= 0 and not letters and not self._urgent:
            return
        ready = 0 if base is None else base.manifest.number
        away = (index.flags[:used] & AWAY) != 0
        folded = np.where(away, index.left_in[:used], index.mail_in[:used]) < ready
        does = ((index.pending[:used] > 0) & (index.at[:used] <= self._clock.now())) | (index.mail[:used] > 0)
        here = np.flatnonzero(~away & folded & (index.mail[:used] > 0))  # mail for groups that came back
        wanted = [int(index.key[row]) for row in here[:_READ_AT_ONCE].tolist()]
        wanted += [key for key in self._urgent if (row := self.index.find(key)) >= 0 and folded[row]]
        if need > 0:
            wanted += self._best(np.flatnonzero(away & folded & does), min(need, _READ_AT_ONCE))
        late = ~folded & (does | ~away)
        if late.any() and (need > 0 or self._urgent or (late & ~away).any()) and not wanted:
            self.hurry = True
        self._wanted = list(dict.fromkeys(wanted))

    def _best(self, rows: NDArray[np.int64], most: int) -> list[int]:
        """The keys of the best groups of some, as many as there is room for; the best of all where nothing is left."""
        index = self.index.arrays
        if not len(rows):
            return []
        if len(rows) > most:
            rows = rows[np.argpartition(-index.worth[rows], most - 1)[:most]]
        rows = rows[np.argsort(-index.worth[rows], kind="stable")]
        room = self._bound.room(self._used())
        sizes = np.cumsum(index.pages[rows].astype(np.int64) + index.mail[rows])
        fit = int(np.searchsorted(sizes, room, side="right"))
        fit = min(fit, max(1, int(np.searchsorted(sizes, _PAGES_AT_ONCE, side="right"))))
        if fit == 0:
            stalled, now = self._parts.schedule.stalled, self._clock.now()
            if stalled or now - self._made_room >= _PATIENCE:
                self._make_room, self._made_room = True, now
            fit = int(stalled)
            self._too_large = int(index.key[rows[0]]) if stalled else None
        return [int(key) for key in index.key[rows[:fit]].tolist()]

    def read(self) -> None:
        """Beside the loop, while nothing is packed: read what is wanted."""
        base = self._parts.pages.log.base
        if not self._wanted or base is None:
            return
        if self._shelf is None or self._shelf.number != base.manifest.number:
            self._shelf = Shelf(base)
        shelf, wanted, self._wanted = self._shelf, self._wanted, []
        self._read = [self._found(shelf, key) for key in wanted]

    @staticmethod
    def _found(shelf: Shelf, key: int) -> _Read:
        pieces = shelf.pieces(key)
        whole = next((decoded(piece.data) for piece in pieces if piece.kind == WHOLE), None)
        return _Read(key, shelf.number, whole, [piece for piece in pieces if piece.kind == MAIL])
