"""Commits of a local frontier, and reading them back. In: what changed of each part. Out: one record in the log; after
a restart, every part as it was at the last of them.

A commit is packed on the loop (`pack`), put on disk by a thread beside it (`write`), and counts from then on
(`written`). Each part packs what changed of it, and takes it back.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import msgspec

from weft.errors import WeftError
from weft.frontier.durable.past import Past
from weft.frontier.durable.pauses import noted
from weft.frontier.durable.records import Commit
from weft.frontier.local import restoring
from weft.frontier.local.exchanges import Exchanges
from weft.frontier.local.parts import Parts
from weft.frontier.local.rolling import Rolling
from weft.frontier.local.sites import Resting
from weft.frontier.shared.contract import Begun
from weft.frontier.special import Special, decode
from weft.model import PageNumber, SiteNumber, Turn
from weft.store.files import Mark

Done = Callable[[None], None]
_NOTHING = (b"", b"")


class Commits:
    """Commits one local frontier, which owns it.

    What is packed together is read back together, or not at all.
    """

    def __init__(self, parts: Parts, exchanges: Exchanges, *, say: Callable[[str], None]) -> None:
        self._parts = parts
        self._exchanges = exchanges
        self._clock = parts.clock
        self._log = parts.pages.log
        self._pauses = parts.pauses
        self._rolling = Rolling(self._log, parts.robots, after=parts.terms.checkpoint_after, say=say)
        self._packed = (0, 0)  # the number of the packed commit, and the last message that it took in
        self._awaiting: list[Done] = []  # called when the next commit is on disk
        self._packed_awaiting: list[Done] = []
        self.application = b""  # the state of the worker's application when the log was read back
        self.untold = b""  # and what that had not been told by then
        # What was sent once by an earlier run, and nobody knows what came of it.
        self.unknown: list[tuple[Turn, Special]] = []
        self.set_back = 0.0  # seconds that the machine's clock went back since the last commit of the run before

    def __repr__(self) -> str:
        return f"Commits({self._log}, {self._rolling})"

    # A commit.

    def pack(
        self, *, marks: dict[str, Mark], counts: bytes, clean: bool = False, application: tuple[bytes, bytes] = _NOTHING
    ) -> None:
        """Take what changed since the last commit as one record, to be written next; with it the state of the worker's
        application, where it changed, and what that has not been told.
        """
        parts = self._parts
        now, wall = self._clock.now(), self._clock.wall()
        self._rolling.look()
        shelving, rolls = self._exchanges.shelving, self._rolling.closes()
        if shelving is not None:
            shelving.begin(self._log.number + (rolls and self._log.size > 0))
        commit = Commit(marks=marks, counts=counts, wall=wall, clean=clean)
        commit.application, commit.untold = application
        batch = parts.holdings.pack(commit, lists=parts.sites.changed_lists())
        parts.pages.pack(commit)
        parts.sites.pack(commit, now, wall)
        parts.robots.pack(commit)
        parts.redirects.chains.pack(commit)
        parts.specials.pack(commit, clean=clean)
        parts.ranking.pack(commit)
        if shelving is not None:
            shelving.pack(commit)
        self._exchanges.mail.seal(batch, commit)
        parts.robots.placed(commit, self._log.pack(commit, roll=rolls))
        self._pauses.turn(wall)
        self._packed = (commit.number, commit.taken)
        self._packed_awaiting += self._awaiting
        self._awaiting = []
        parts.schedule.throttles.tidy(now)
        if parts.names.is_time():
            parts.discovery.look_again()

    def write(self, *, sync: bool) -> None:
        """Put the packed record on disk; may be called from another thread than the rest."""
        self._pauses.sync = sync
        self._log.write(sync=sync)
        self._rolling.work(self._exchanges.mail.applied)
        if self._exchanges.shelving is not None:
            self._exchanges.shelving.read()

    def written(self) -> None:
        """The packed record is on disk."""
        self._log.written()
        self._rolling.written()
        self._exchanges.mail.committed(*self._packed)
        self._parts.specials.written()
        if self._exchanges.shelving is not None:
            self._exchanges.shelving.look()
            self._rolling.hurry = self._exchanges.shelving.hurry
            self._exchanges.shelving.hurry = False
        awaiting, self._packed_awaiting = self._packed_awaiting, []
        for done in awaiting:
            done(None)

    def after(self, done: Done) -> None:
        """Call this when everything that is known by now is on disk."""
        self._awaiting.append(done)

    def commit(self, *, marks: dict[str, Mark], counts: bytes = b"", clean: bool = False, sync: bool = False) -> None:
        """Take what changed and write it, in one step."""
        self.pack(marks=marks, counts=counts, clean=clean)
        self.write(sync=sync)
        self.written()

    # Reading them back.

    def recover(
        self,
        begun: Begun | None = None,
        intact: Callable[[Commit], bool] = lambda _commit: True,
        pulse: Callable[[], None] = lambda: None,
    ) -> Commit | None:
        """Read the log back and stand where it ends; its last record, or None when there is none.

        Records at the end whose outputs are not `intact` are dropped: the log's `dropped` has them. Where more than
        these is missing, that is an error, and nothing is changed.
        """
        parts, log = self._parts, self._log
        pages, ranking = parts.pages, parts.ranking
        mail = self._exchanges.begin(begun)
        self._find_pauses()
        with restoring.reading_columns(pages) as columns:
            past = Past(log)
            restoring.load_base(pages, ranking, past, columns)
        if log.base is not None:
            mail.load(log.base.manifest.last, log.base.manifest.batches)
        for replayed in log.replay(intact, applied=0 if begun is None else begun.applied):
            pulse()
            past.take(replayed)
            restoring.replay(pages, ranking, replayed)
            mail.replay(replayed.commit)
            replayed.commit.robots = []  # they stay in the log: all at once may be more than fits into memory
        log.tidy()
        self._rolling.go_on()
        if past.last is None:
            if begun is not None and begun.incarnation > 1:  # a life before may have come to no commit, or lost all
                parts.schedule.hold_back(self._clock.now())
            return None
        self._check_secret(past)
        self.set_back = max(0.0, past.last.wall - self._clock.wall())
        self._restore(past)
        return past.last

    def _find_pauses(self) -> None:
        """Take up pauses that servers asked for behind the last commit; how long they last at most we know."""
        sites, wall = self._parts.sites, self._clock.wall()
        latest = wall + self._parts.terms.politeness.retry_after_most
        self._pauses.unclaimed = {site: min(until, latest) for site, until in noted(self._log.path, wall).items()}
        sites.asked = self._pauses.unclaimed
        sites.wall_offset = self._clock.wall() - self._clock.now()

    def _restore(self, past: Past) -> None:
        """All is read: put back what counts of it."""
        parts = self._parts
        for url in past.scope:
            parts.scope.admit(url)
        parts.holdings.groups.update(past.groups)
        self._restore_shelf(past)
        parts.sites.restore_names(past.names, past.domains, past.gone())
        unknown = past.unknown()
        standing = restoring.restore(parts.pages, parts.sites, past)
        self._restore_sites(past)
        pending = restoring.stand(
            parts.pages, parts.sites, past, standing, self._clock, self.set_back, parts.terms.retries.longest
        )
        parts.redirects.chains.restore(past.redirects(), pending, past.first)
        parts.specials.restore(past.special(), every=past.requests.values())
        self.application, self.untold = past.application, past.untold
        for page in unknown:
            url, via, _, depth, kind, steps = self._log.entry(page)
            special = decode(past.requests[page])
            turn = Turn(PageNumber(page), special.id(url), url, depth, kind, via, 1, steps)
            self.unknown.append((turn, special))

    def _restore_shelf(self, past: Past) -> None:
        """Put back what is known of groups on the shelf; nothing else is of those that were on the way there."""
        if past.leaving:
            for group in past.leaving:
                for number in group.sites:
                    past.forget(number)
            past.drop_gone()
        if self._exchanges.shelving is not None:
            self._exchanges.shelving.restore(past, self._log.number, self.set_back)
        elif past.shelved:
            raise WeftError(
                "groups of this crawl are on the shelf, and --memory is not set",
                where=str(self._log.path),
                todo="go on with --memory as before; it may be larger",
            )

    def _restore_sites(self, past: Past) -> None:
        """Put back what was known of sites. Any of them may have been visited until this moment."""
        parts, now = self._parts, self._clock.now()
        parts.robots.restore(past)
        delays, overrides, names = parts.robots.delays(), parts.scope.overrides, past.names

        def terms(number: int) -> tuple[float | None, float | None]:
            settings = overrides.of(names[number])
            return (delays.get(number) or None) if parts.scope.obeys(settings) else None, settings.wait

        resting = parts.sites.restore(past.states, now, self._clock.wall() + self.set_back)
        # A first visit may have been under way: nothing is remembered of its site, but that it wants a longer wait.
        longer = {number for number, delay in delays.items() if delay}
        if overrides.sites:
            longer |= {number for number, name in enumerate(names) if overrides.of(name).wait}
        longer -= past.states.keys() | past.left
        first = (Resting(SiteNumber(number), 0.0, 0.0, "", set_aside=False) for number in sorted(longer))
        parts.sites.rest(
            *parts.schedule.resume_all(
                chain(resting, first),
                now=now,
                terms=terms if delays or overrides.sites else None,
                domain_of=past.domains.__getitem__,
            )
        )
        parts.discovery.wildcards.doorways.update(parts.sites.doorways)

    def _check_secret(self, past: Past) -> None:
        """Are the keys in the log made with our secret? Another one would have every page fetched again."""
        if not self._log.pages:
            return
        first, seen = self._log.first, self._parts.pages.seen
        if first == self._log.pages:
            return
        name = self._log.entry(first).url.encode()
        if first in past.requests:
            name = msgspec.msgpack.decode(past.requests[first], type=Special).name(name.decode())
        if seen.keyed.of_bytes(name) != seen.key_of[first]:
            raise WeftError(
                "the crawl's hash key is not the one that it was begun with",
                where=str(self._log.path),
                todo="put hash.key back from a copy, or remove it and run weft repair",
            )

    @property
    def lost(self) -> list[str]:
        """Sites whose last visits are repeated, because records were dropped when the log was read back."""
        numbers = {number for commit in self._log.dropped for number, _ in commit.states}
        new = [name for commit in self._log.dropped for name in commit.sites]
        names = self._parts.sites.names
        return sorted({*new, *(names[number] for number in numbers if number < len(names))})

    def close(self) -> None:
        """Give the log's files back."""
        self._rolling.close()
        self._pauses.close()
        self._log.close()
