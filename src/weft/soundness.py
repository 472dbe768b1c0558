"""Is what was committed still there? In: a crawl's directory. Out: everything that is damaged, or nothing.

Asked before a run begins, while no worker runs. The logs are read, and every record must be whole but for the last two.
The global frontier and the logs must have heard of each other: a worker's log is not behind what the global frontier
knows of it, and no worker has heard from the global frontier more often than that knows. Each group that a log holds is
its worker's there, so that no two workers own one. Open files are as the last commit has them, from their first byte
on. Sealed files are there, as the list of them says (`store/sealed.py`).

What an ordinary crash leaves is no damage. Numpy and Arrow are not loaded: most runs find nothing.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Container, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from weft.directory import KEY, secret_of
from weft.errors import WeftError
from weft.frontier.durable.chain import SiteTable, open_chain, unsound
from weft.frontier.durable.records import Commit, kept, whole
from weft.frontier.shared.contract import Batch, SharedFrontier
from weft.frontier.shared.opening import name_of
from weft.store.files import OPEN, SETTLED, damaged, final_name, intact, owner_of, wholly_intact
from weft.store.places import located
from weft.store.sealed import LIST, Sealed, append, as_listed, final_files, listed, sealed_now
from weft.store.stored import Stored, stored_volumes
from weft.urls import registered_domain

_SHOWN = 3  # damages in a message


class Damage(NamedTuple):
    """Something that is not as it was."""

    where: str  # a file of the directory
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class _Groups(msgspec.Struct):
    """Of a `SiteTable` what is always asked for."""

    groups: list[str] = []


_EMPTY = msgspec.msgpack.encode(SiteTable())


class Told(NamedTuple):
    """What a log says, as far as others must agree."""

    last: Commit
    groups: set[str]  # that its worker holds
    claimed: set[str]  # of these, by batches that the global frontier has not heard of
    moved: set[str]  # that it gave away, likewise


def check_sound(out: Path, shared: SharedFrontier | None) -> None:
    """Raise an error where something is damaged; nothing is changed. `shared` is None where there is no global frontier
    yet.
    """
    anew: list[Sealed] = []
    found = look(out, shared, anew)
    if not found:
        if anew:
            append(out, anew)
        return
    shown = "; ".join(map(str, found[:_SHOWN]))
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    raise WeftError(
        f"this crawl is damaged: {shown}{more}",
        where=str(out),
        todo="nothing was changed; put the files back from a copy, "
        f"or have `weft repair {out}` say what is lost and mend the rest",
    )


def look(
    out: Path, shared: SharedFrontier | None, anew: list[Sealed] | None = None, *, closely: bool = False
) -> list[Damage]:
    """Everything that is damaged; `closely`: every byte of every file is read. `anew` gets what the list of sealed
    files should have, and has not.
    """
    anew = [] if anew is None else anew
    if shared is None:
        begun = [*out.glob("workers/*/frontier.log"), *(path for _, path in final_files(out))]
        return [Damage(name_of(out), "it is missing")] if begun or (out / LIST).exists() else []
    found = [*_key(out), *(Damage(name_of(out), said) for said in shared.unsound())]
    if found:
        return found + list(_sealed(out, {}, anew, closely=closely))
    ends: dict[int, Commit] = {}
    for number in _numbers(out, shared):
        found += _worker(out, shared, number, ends, closely=closely)
    found += _sealed(out, ends, anew, closely=closely)
    return found


def _key(out: Path) -> Iterator[Damage]:
    try:
        secret_of(out)
    except WeftError as error:
        yield Damage(KEY, error.what)


def log_of(out: Path, number: int) -> Path:
    """The log of a worker."""
    return out / "workers" / str(number) / "frontier.log"


def _numbers(out: Path, shared: SharedFrontier) -> list[int]:
    logs = {int(path.parent.name) for path in out.glob("workers/*/frontier.log") if path.parent.name.isdigit()}
    return sorted(logs | {worker.number for worker in shared.workers()})


def _worker(
    out: Path, shared: SharedFrontier, number: int, ends: dict[int, Commit], *, closely: bool
) -> Iterator[Damage]:
    """What is wrong with a worker's log, and with the files that it says are open; `ends` gets its last record."""
    path, where = log_of(out, number), f"workers/{number}/frontier.log"
    new = path.with_name(f"{path.name}.new")
    if number in shared.handed_over() and new.exists():  # it is about to take the log's place
        path = new
    stood = next((worker for worker in shared.workers() if worker.number == number), None)
    applied = None if stood is None else stood.applied
    if not path.exists():
        if applied:
            yield Damage(where, f"it is missing, and {applied} commits were there")
        return
    try:
        broken = [Damage(str(file.relative_to(out)), what) for file, what in unsound(path, closely=closely)]
        told = read_log(out, path, applied or 0)
    except WeftError as error:
        files = list(_files_before_the_last(out, path))
        yield from files or [Damage(_inside(out, error.where, where), error.what)]
        return
    yield from broken
    last = ends[number] = told.last
    if (stood is None and last.number) or (stood is not None and last.version > stood.version):
        yield Damage(name_of(out), f"it is older than {where}")
    elif last.number >= (applied or 0):  # else the last commits are lost, and the global frontier knows better
        known = shared.held(number)
        alien = told.groups - known - told.claimed
        if alien:
            yield Damage(name_of(out), f"{_some(alien)} of {where} belong to nobody there, or to another worker")
        missing = known - told.groups - told.moved
        missing = missing and set(shared.missing(number, told.groups, last.taken)) - told.moved
        missing = not_shelved(out, path, missing) if missing else missing
        if missing:
            yield Damage(where, f"nothing is known of {_some(missing)} that it should hold")
    yield from _open_files(out, last)


def not_shelved(out: Path, path: Path, groups: set[str]) -> set[str]:
    """Those of some groups that a worker has not put away. Of these the keys are at hand, not the names."""
    from weft.frontier.durable.log import FrontierLog  # they load numpy, which is needed for nothing else
    from weft.frontier.durable.past import Past
    from weft.frontier.durable.shelved import AWAY
    from weft.frontier.keyed import Keyed

    log = FrontierLog(path, read_only=True)
    try:
        past = Past(log)
        for replayed in log.replay():
            past.take(replayed)
        rows = past.shelved.rows()
    finally:
        log.close()
    keys = set(rows["key"][(rows["flags"] & AWAY) > 0].tolist())
    if not keys:
        return groups
    keyed = Keyed(secret_of(out))
    return {group for group in groups if keyed.of(group) not in keys}


def _inside(out: Path, where: str, otherwise: str) -> str:
    """A file as it is called in the directory."""
    path = Path(where)
    return str(path.relative_to(out)) if path.is_relative_to(out) and path.suffix != ".new" else otherwise


def _open_files(out: Path, commit: Commit) -> Iterator[Damage]:
    """Open files that are not as a commit has them."""
    for name, mark in commit.marks.items():
        if not wholly_intact(out, name, mark):
            yield Damage(f"{name}{OPEN}", f"the {mark.length} bytes that were committed are not there as they were")


def _files_before_the_last(out: Path, path: Path) -> Iterator[Damage]:
    """Of a log that is whole: files that are not even as they were before its last records."""
    with suppress(WeftError), closing(open_chain(path)) as chain:
        file, _, begin = chain.grows
        records = deque(whole(file, begin), maxlen=SETTLED + 1)
        if len(records) > SETTLED and records[-1].end == os.fstat(file).st_size:
            yield from _open_files(out, records[0].commit())


def without_damaged(out: Path, damaged_files: Container[str]) -> Callable[[Commit], bool]:
    """Whether everything is there that a commit promises, but for some files, by their final names: those that a repair
    makes anew do not say which records count.
    """

    def there(commit: Commit) -> bool:
        return intact(out, {name: mark for name, mark in commit.marks.items() if final_name(name) not in damaged_files})

    return there


def read_log(out: Path, path: Path, applied: int, *, without: Container[str] = ()) -> Told:
    """What a log says. It is only read; a damaged one is an error. Files whose final names are in `without` do not
    count.
    """
    told = Told(Commit(), set(), set(), set())
    try:
        with closing(open_chain(path)) as chain:
            base = chain.base
            sites = _EMPTY if base is None else base.read("sites")
            groups = dict.fromkeys(msgspec.msgpack.decode(sites, type=_Groups).groups)
            names, since = None, list[str]()
            batches = [] if base is None else base.manifest.batches
            last = None if base is None else base.manifest.last
            told = told if last is None else told._replace(last=last)
            for _, record in kept(chain.logs, without_damaged(out, without), applied=applied, last=last):
                commit = record.commit()
                since += commit.sites
                groups.update(dict.fromkeys(commit.groups))
                if commit.left and names is None:  # half a million take half a second
                    names = msgspec.msgpack.decode(sites, type=SiteTable).names
                for number in commit.left:
                    assert names is not None
                    name = names[number] if number < len(names) else since[number - len(names)]
                    groups.pop(registered_domain(name), None)
                for shelved in commit.shelved:
                    groups.pop(shelved.group, None)
                batches.append(commit.batch)
                told = told._replace(last=commit)
            for batch in (msgspec.msgpack.decode(each, type=Batch) for each in batches if each):
                if batch.number > applied:
                    told.claimed.update(batch.claimed)
                    told.moved.update(group for group, _ in batch.moved)
    except (msgspec.MsgspecError, IndexError) as error:
        raise damaged(f"its records do not fit together: {error}", path) from error
    told.groups.update(groups)
    return told


def _some(groups: set[str]) -> str:
    first = ", ".join(sorted(groups)[:_SHOWN])
    return f"{len(groups)} groups ({first}{' …' if len(groups) > _SHOWN else ''})"


def _sealed(out: Path, ends: dict[int, Commit], anew: list[Sealed], *, closely: bool) -> Iterator[Damage]:
    """What is wrong with sealed files. `anew` gets those that are as they were, and have no line or another time."""
    known = listed(out)
    there = dict(final_files(out))
    stored = stored_volumes(out)
    if closely and stored:
        yield from _in_store(stored)
    for name, lines in known.items():
        if name not in there and name not in stored and not _is_open(out, name, ends):
            yield Damage(name, "it was sealed, and is missing")
        worker, number = owner_of(Path(name)), max(line.number for line in lines)
        if worker in ends and ends[worker].number < number:
            where = f"workers/{worker}/frontier.log"
            yield Damage(where, f"it ends with commit {ends[worker].number}, and {name} was sealed with {number}")
    for name, path in there.items():
        if name not in known:
            said = _unreadable(path)
            if said:
                yield Damage(name, said)
            else:
                anew.append(sealed_now(name, path))
            continue
        line = as_listed(path, known[name], read=closely)
        if line is None:
            yield Damage(name, "it is not as it was when it was sealed")
        elif line not in known[name]:
            anew.append(line)


def _is_open(out: Path, name: str, ends: dict[int, Commit]) -> bool:
    """Is a file listed that was not yet renamed?"""
    return any(
        final_name(each) == name and located(out, f"{each}{OPEN}").exists()
        for commit in ends.values()
        for each in commit.marks
    )


def _in_store(stored: dict[str, Stored]) -> Iterator[Damage]:
    """What is wrong with volumes that moved to a store: every byte of them is read."""
    from weft.store.objects import checksum_of  # where one is needed only

    for name, volume in stored.items():
        found = checksum_of(volume.url)
        if found is None:
            yield Damage(volume.url, "it is not in the store any more")
        elif found != (volume.length, volume.checksum):
            yield Damage(volume.url, f"it is not as {name} was when it was uploaded")


def _unreadable(path: Path) -> str:
    """Why a sealed file cannot be read whole, or nothing."""
    from weft.store.verifying import unreadable  # loads Arrow

    return unreadable(path)
