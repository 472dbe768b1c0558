"""Repairing a damaged crawl. In: its directory. Out: what is lost; and, if that is agreed to, a crawl that goes on.

Only while it does not run. Everything is looked at, every byte. What can be saved of each damaged file is written to
`.repair`, so that it is known what would be lost before anything is changed. Then damaged files go to `damaged`, with
what was saved in their places. Nothing is deleted.

The columns say what was fetched: a page is done if it has a row, and the record that its row names. Where logs and
global frontier are whole, the pages that a log has as done, and that have no row any more, are offered again. Where
they are not, both are made anew (`Rebuilding`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from weft.clock import Clock, SystemClock
from weft.config import Settings
from weft.directory import KEY, draw_secret, locked, secret_of, stored_plan
from weft.disk import rename, writing
from weft.errors import UsageError, WeftError
from weft.frontier.durable import parcels
from weft.frontier.durable.chain import commits_left
from weft.frontier.durable.log import FrontierLog, Replayed
from weft.frontier.durable.on_shelf import links_of, on_shelf
from weft.frontier.durable.past import DONE, GONE, Past
from weft.frontier.durable.rebuilding import Rebuilding
from weft.frontier.durable.records import Commit
from weft.frontier.shared.contract import Found, FrontierAwayError, SharedFrontier
from weft.frontier.shared.opening import FILE, files_of, open_frontier
from weft.handover import numbers_of
from weft.salvage import Salvage
from weft.soundness import Damage, log_of, look, read_log, without_damaged
from weft.store.files import final_name
from weft.store.joining import JoinedColumns
from weft.store.sealed import LIST, final_files, listed, sealed_now
from weft.store.sealing import make_contents_anew
from weft.store.stored import stored_names
from weft.widening import links_to_follow

_ROOM, _DAMAGED = ".repair", "damaged"
_OF_FRONTIER = (FILE, "postgres", "workers/", KEY)  # if one of them is damaged, the frontier is made anew
Decide = Callable[["Repair"], bool]


@dataclass(slots=True, kw_only=True)
class Repair:
    """What is damaged, and what a repair costs."""

    damages: list[Damage] = field(default_factory=list)
    files: list[str] = field(default_factory=list)  # what becomes of each damaged file
    pages: int = 0  # that are known to have been stored, and are fetched again
    rebuilt: bool = False  # the frontier is made anew
    done: bool = False

    @property
    def losses(self) -> list[str]:
        """What it costs, line by line."""
        lines = list(self.files)
        if self.rebuilt:
            lines.append("the frontier is made anew from the columns and from what can be read of the logs")
            lines.append("lost with the old one: how often pages were tried, scores, and requests with a body")
        lines.append(f"{self.pages:,} pages that were stored are fetched again")
        return lines


def repair_crawl(out: Path, decide: Decide, clock: Clock | None = None) -> Repair:
    """Say what is damaged and what would be lost, and repair it if `decide` says so."""
    clock = clock or SystemClock()
    plan = stored_plan(out)
    with locked(out):
        shared = _shared(out, clock)
        try:
            report = Repair(damages=look(out, shared, closely=True))
            if not report.damages:
                return report
            room = out / _ROOM
            shutil.rmtree(room, ignore_errors=True)
            try:
                _repair(out, room, shared, report, decide, plan.settings, plan.seeds, clock)
            finally:
                shutil.rmtree(room, ignore_errors=True)
        finally:
            if shared is not None:
                shared.close()
    return report


def _shared(out: Path, clock: Clock) -> SharedFrontier | None:
    try:
        return open_frontier(out, clock, read_only=True)
    except (UsageError, FrontierAwayError):
        raise
    except WeftError:
        return None


def _repair(
    out: Path,
    room: Path,
    shared: SharedFrontier | None,
    report: Repair,
    decide: Decide,
    settings: Settings,
    seeds: list[str],
    clock: Clock,
) -> None:
    gone = [each for each in report.damages if each.where.startswith("s3://")]
    if gone:
        raise WeftError(
            f"volumes in the object store are damaged, and weft repairs none there: {gone[0]}",
            where=str(out),
            todo="put the objects back from a copy or an earlier version; nothing was changed",
        )
    report.rebuilt = shared is None or any(each.where.startswith(_OF_FRONTIER) for each in report.damages)
    names = {each.where for each in report.damages if not each.where.startswith(_OF_FRONTIER)}
    logs = _Logs(out, _applied(shared), {final_name(name) for name in names}, rebuilt=report.rebuilt)
    salvage = Salvage(out, room, _marks(out), logs.ends(), wall=clock.wall())
    salvage.save(names, all_open=report.rebuilt)
    lost = logs.lost(salvage.done)
    report.files = [*salvage.said, *logs.said]
    report.pages = len(lost)
    if not decide(report):
        return
    aside = _place(out, clock)
    logs.cut(aside)
    salvage.replace(aside)
    if report.rebuilt or shared is None:
        _rebuild(out, room, shared, aside, settings, seeds, clock)
    else:
        _offer_again(out, lost, clock)
    _list_anew(out, aside, salvage.replaced, anew=report.rebuilt)
    make_contents_anew(out, secret_of(out))
    note = [*map(str, report.damages), "", *report.losses]
    (aside / "README.txt").write_text("\n".join(note) + "\n", encoding="utf-8")
    report.done = True


def _offer_again(out: Path, lost: list[Found], clock: Clock) -> None:
    shared = open_frontier(out, clock)
    try:
        shared.offer_again(lost)
    finally:
        shared.close()


def _place(out: Path, clock: Clock) -> Path:
    """A new folder for what is taken out."""
    number = 1
    while (aside := out / _DAMAGED / f"{int(clock.wall())}-{number}").exists():
        number += 1
    with writing(aside):
        aside.mkdir(parents=True)
    return aside


def _marks(out: Path) -> dict[int, list[Commit]]:
    """By worker: the records of its log that can be read, for what they promise of open files."""
    return {
        number: [Commit(marks=commit.marks) for commit in commits_left(log_of(out, number))]
        for number in numbers_of(out)
    }


def _applied(shared: SharedFrontier | None) -> dict[int, int]:
    """By worker: the last commit that the global frontier heard of, if it can be read."""
    try:
        return {} if shared is None else {worker.number: worker.applied for worker in shared.workers()}
    except WeftError:
        return {}


class _Logs:
    """What the logs say that a repair goes by: the records that count now count when the crawl goes on, and no others.

    Files that are made anew are whole then, so they have no part in it. A record that does not count although its bytes
    are there is cut off with the repair: what it promised may be sealed by then, and it would count again.
    """

    def __init__(self, out: Path, applied: dict[int, int], bad: set[str], *, rebuilt: bool) -> None:
        self._out = out
        self._applied = applied  # by worker: the last commit that the global frontier heard of
        self._bad = bad  # final names of damaged files
        self._rebuilt = rebuilt  # no log counts any more, whatever can be read of it
        self._dropped: dict[int, int] = {}  # by worker: records that do not count

    def __repr__(self) -> str:
        return f"_Logs({self._out}, {len(self._bad)} bad files)"

    def ends(self) -> dict[int, Commit]:
        """By worker: the record that its log ends with, once what a crash left is dropped."""
        if self._rebuilt:
            return {}
        return {
            number: read_log(self._out, log_of(self._out, number), self._heard(number), without=self._bad).last
            for number in numbers_of(self._out)
        }

    def lost(self, done: set[str]) -> list[Found]:
        """Pages that logs have as done, and that have no row."""
        found: dict[str, Found] = {}
        for number in numbers_of(self._out):
            try:
                log = FrontierLog(log_of(self._out, number), read_only=True)
            except WeftError:
                continue  # the columns say what was fetched
            try:
                past = Past(log)
                for replayed in log.good_part() if self._rebuilt else self._replay(log, number):
                    past.take(replayed)
                if log.dropped:
                    self._dropped[number] = len(log.dropped)
                for link in _done_in(past, log):
                    if link.url not in done:
                        found[link.url] = link
            except WeftError:
                continue
            finally:
                log.close()
        return list(found.values())

    @property
    def said(self) -> list[str]:
        """What becomes of logs."""
        return [
            f"workers/{number}/frontier.log: its last records go ({count}), as after a crash; their visits are repeated"
            for number, count in self._dropped.items()
        ]

    def cut(self, aside: Path) -> None:
        """Cut off what does not count; a copy of the log as it was goes aside."""
        for number in self._dropped:
            path = log_of(self._out, number)
            copy = aside / path.relative_to(self._out)
            with writing(copy):
                copy.parent.mkdir(parents=True)
                shutil.copy2(path, copy)
            log = FrontierLog(path)
            try:
                for _ in self._replay(log, number):
                    pass
            finally:
                log.close()

    def _replay(self, log: FrontierLog, number: int) -> Iterator[Replayed]:
        return log.replay(without_damaged(self._out, self._bad), applied=self._heard(number))

    def _heard(self, number: int) -> int:
        return self._applied.get(number, 0)


def _done_in(past: Past, log: FrontierLog) -> Iterator[Found]:
    """Pages that a log has as done, those of groups on the shelf included, as links to be followed again."""
    sites, states = past.sites(leaving=True), past.page_states()
    for place in np.flatnonzero((states == DONE) & (sites != GONE)).tolist():
        url, via, _, depth, kind, steps = log.entry(past.first + place)
        yield Found(url, kind, depth, via, again=True, steps=steps)
    for _group, content in on_shelf(past, log):
        over = np.frombuffer(content.state, np.uint8) == parcels.DONE
        for link, is_done in zip(links_of(content), over.tolist(), strict=True):
            if is_done:
                yield msgspec.structs.replace(link, again=True)


def _rebuild(
    out: Path,
    room: Path,
    shared: SharedFrontier | None,
    aside: Path,
    settings: Settings,
    seeds: list[str],
    clock: Clock,
) -> None:
    """Make the logs and the global frontier anew, and put them in place of the old ones."""
    with JoinedColumns(out, room) as columns:
        new = Rebuilding(out, shared, seeds=seeds, admitted=columns.redirected_seeds(), wall=clock.wall())
        links = links_to_follow(columns, settings, blacklist=new.blacklist, admitted=new.scope)
        new.write(room, columns.fetched(), links)
        new.write_logs(room / "workers")
    if shared is not None:
        shared.close()  # it may not write to what comes in its place
    with writing(out):
        for path in (out / "workers", *files_of(out), out / KEY):
            if path.exists():
                shutil.move(path, aside / path.name)
        if (room / "workers").exists():
            rename(room / "workers", out / "workers")
        for path in files_of(room):
            rename(path, out / path.name)
    draw_secret(out)  # nothing is hashed with the old one any more


def _list_anew(out: Path, aside: Path, replaced: set[str], *, anew: bool) -> None:
    """Write the list of sealed files as they are now; with a new frontier the numbers of commits begin anew."""
    known = listed(out)
    lines = []
    for name, path in final_files(out):
        if name in known and name not in replaced:
            lines += [line._replace(number=0 if anew else line.number) for line in known[name]]
        else:
            lines.append(sealed_now(name, path))
    for name in stored_names(out) & known.keys():
        lines += [line._replace(number=0 if anew else line.number) for line in known[name]]
    with writing(out / LIST):
        if (out / LIST).exists():
            shutil.move(out / LIST, aside / LIST)
        (out / LIST).write_bytes(b"".join(line.line() for line in lines))
