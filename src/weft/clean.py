"""Tidying up after a crawl that does not run. In: its directory. Out: what was done.

What workers left that will not start again by themselves goes back to the global frontier, and files that no commit
names are removed. Nothing that was committed is lost: a run does the same for what it needs when it starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from weft.clock import Clock, SystemClock
from weft.directory import locked, stored_plan
from weft.disk import writing
from weft.errors import WeftError
from weft.frontier.durable.log import Commit
from weft.frontier.durable.parcels import Estate
from weft.frontier.shared.contract import SharedFrontier
from weft.frontier.shared.opening import frontier_exists, open_frontier
from weft.handover import Handed, dissolve, numbers_of, repair
from weft.soundness import check_sound, not_shelved
from weft.store.files import OPEN, intact
from weft.store.places import located, name_of, own_folders
from weft.store.sealing import seal_leftovers


@dataclass(slots=True, kw_only=True)
class Cleaned:
    """What was done; files by their names in the directory."""

    handed_over: list[Handed] = field(default_factory=list)
    sealed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def clean_crawl(out: Path, clock: Clock | None = None) -> Cleaned:
    """Hand over what dead workers left, seal what is open, and remove what no commit names."""
    clock = clock or SystemClock()
    plan = stored_plan(out)
    if not frontier_exists(out):
        raise WeftError("there is no global frontier here", where=str(out), todo="run the crawl first")
    with locked(out):
        done = Cleaned()
        shared = open_frontier(out, clock)
        try:
            check_sound(out, shared)
            done.removed += [str(file.relative_to(out)) for file in repair(out, shared)]
            beside = set(_found(out, "*.new"))
            unsealed = {file for file in _found(out, f"*{OPEN}") if file.is_file()}
            dead = set(shared.surplus())
            for number in sorted({worker.number for worker in shared.workers()} | set(numbers_of(out))):
                if _tidy(out, shared, number):
                    dead.add(number)
            for number in sorted(dead):
                done.handed_over.append(dissolve(out, shared, number, plan.settings, clock))
        finally:
            shared.close()
        for file in _found(out, "*.new"):
            with writing(file):
                file.unlink()
        for file in sorted(beside | unsealed):
            if not file.exists():
                list_of = done.removed if file in beside or not _final(out, file) else done.sealed
                list_of.append(name_of(out, file))
    return done


def _found(out: Path, pattern: str) -> list[Path]:
    """Files of these names, wherever volumes are too; what a repair took out is left alone."""
    found = [path for path in out.rglob(pattern) if path.relative_to(out).parts[0] != "damaged"]
    return found + [path for folder in own_folders(out) for path in folder.glob(pattern)]


def _tidy(out: Path, shared: SharedFrontier, number: int) -> bool:
    """Seal what a worker left open; is it dead: does it hold groups that are not in its log any more?"""
    log = out / "workers" / str(number) / "frontier.log"
    if not log.exists():
        seal_leftovers(out, {}, number)
        return bool(shared.missing(number, (), 0))
    estate = Estate(log, lambda commit: intact(out, commit.marks))  # what is not intact is cut off before sealing
    try:
        last = estate.last or Commit()
        seal_leftovers(out, last.marks, number, number=last.number)
        missing = set(shared.missing(number, estate.groups, last.taken))
    finally:
        estate.close()
    return bool(missing and not_shelved(out, log, missing))


def _final(out: Path, file: Path) -> bool:
    """Was an open file sealed?"""
    name = name_of(out, file).removesuffix(OPEN)
    return any(located(out, each).exists() for each in (name, name.replace(".arrow", ".parquet")))
