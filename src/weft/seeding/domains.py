"""Seeds from a registry's listing of domain names (P3 3.1). In: a file of names. Out: a file of home pages whose names
have an address, in the order of `seeding.order`.

Of each name http://NAME/ and http://www.NAME/ are asked for in the DNS. A name that is not registered (NXDOMAIN) has
nothing below it, so that is one question less. Where a registry answers for any name, a name with the addresses of an
absurd one counts as not registered (P3 4.1). Whether there is a web server is for the crawl to find out.

It may take days. So it goes on where it was: in a folder beside the output are the sorted names, the seeds so far, and
a state that says how far both are valid, written every few seconds after what it speaks of. A crash costs the questions
since then. Memory is bounded, whatever the size of the listing.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Literal, NamedTuple

import msgspec

from weft.clock import Clock
from weft.disk import rename, replace_file, writing
from weft.engine.gate import Gate, Identity
from weft.errors import UsageError, WeftError
from weft.fetch.dns import Answer, absurd_name
from weft.fetch.options import Naming
from weft.model import Reason
from weft.seeding.asking import Asking, Names, name_servers
from weft.seeding.listing import digest_of, sort_listing
from weft.settings import setting
from weft.urls import registrable

FOLDER = ".asking"  # behind the name of the output
_NAMES, _SEEDS, _STATE = "names.txt", "seeds.txt", "state.json"
_COMMIT = 2.0  # seconds
_TELL = 0.5  # seconds
_AWAY = frozenset((Reason.DNS_FAILED,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """Settings: what is made of a domain name."""

    scheme: Literal["http", "https"] = setting("http", "scheme of the seeds")
    www: bool = setting(True, "www.NAME is a seed too, where it has an address")
    keep_failed: bool = setting(False, "names whose name servers do not answer, or fail, are seeds too")


class Counts(msgspec.Struct, kw_only=True):
    """What came of names. A name is in one of these."""

    with_seeds: int = 0
    not_registered: int = 0
    no_address: int = 0  # neither it nor its www. has one, though it is registered
    failed: int = 0  # its name servers do not answer, or fail
    special: int = 0  # it has special addresses only (loopback, private …)


class _State(msgspec.Struct, kw_only=True):
    """How far the work is."""

    listing: str  # its digest
    made_by: str  # settings by which seeds are made
    lines: int
    unusable: int
    shown: list[str]
    names: int
    done: int = 0  # names
    at: int = 0  # bytes of the sorted names that are done
    length: int = 0  # bytes of the seeds that are valid
    seeds: int = 0
    counts: Counts = msgspec.field(default_factory=Counts)
    questions: int = 0
    seconds: float = 0.0  # of all runs
    wild: list[str] = []  # suffixes below which any name has an address


class Progress(NamedTuple):
    """How far it is, for people."""

    done: int
    names: int
    seeds: int
    names_per_second: float
    left: float | None  # seconds; None where that is not known


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What a listing came to."""

    out: str
    lines: int  # that say something
    unusable: int  # that have no name in them
    unusable_shown: list[str]  # the first of these, with their place
    names: int  # different ones
    seeds: int  # URLs that were written
    counts: Counts
    wild: list[str]  # suffixes below which any name has an address
    questions: int  # to name servers
    seconds: float
    resumed: int  # names that were done by an earlier run


def from_domains(  # noqa: PLR0913  what is asked, of whom, how, and where to
    listing: Path,
    out: Path,
    *,
    column: str = "",
    making: Making,
    asking: Asking,
    naming: Naming,
    identity: Identity,
    clock: Clock,
    tell: Callable[[Progress], None] = lambda _progress: None,
) -> Made:
    """Write the seeds that a listing gives; the same again goes on where it was."""
    folder = out.with_name(f"{out.name}{FOLDER}")
    made_by = msgspec.json.encode([making, column, identity.allow_address]).decode()
    with _alone(folder):
        state = _begin(listing, folder, column, made_by)
        resumed = state.done
        named = resumed == state.names and out.exists() and not (folder / _SEEDS).exists()  # and then the power failed
        if not named:
            gate = Gate(identity, ())
            gate.anonymous = False  # nobody is visited
            with _opened(folder / _SEEDS, state.length) as growing:
                work = _Work(folder, growing, state, making, gate, clock, tell)
                asyncio.run(work.run(naming, asking))
        with writing(out):
            if not named:
                rename(folder / _SEEDS, out)
            shutil.rmtree(folder)
    return Made(
        out=str(out),
        lines=state.lines,
        unusable=state.unusable,
        unusable_shown=state.shown,
        names=state.names,
        seeds=state.seeds,
        counts=state.counts,
        wild=state.wild,
        questions=state.questions,
        seconds=state.seconds,
        resumed=resumed,
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second process out of the folder."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise WeftError("another process is at work here", where=str(folder), todo="wait for it") from error
        yield
    finally:
        os.close(handle)


@contextmanager
def _opened(path: Path, length: int) -> Iterator[IO[bytes]]:
    """The seeds so far, to be added to; what no state speaks of is cut off."""
    with writing(path):
        file = path.open("ab")
    with file:
        if path.stat().st_size < length:
            todo = "put it back, or remove the folder and begin anew"
            raise WeftError("seeds that were written are not there any more", where=str(path), todo=todo)
        file.truncate(length)
        yield file


def _begin(listing: Path, folder: Path, column: str, made_by: str) -> _State:
    """The state of the work: as it was left, or new with the sorted names."""
    digest = digest_of(listing)
    known = _known(folder)
    if known is not None:
        if (known.listing, known.made_by) != (digest, made_by):
            what = "another listing" if known.listing != digest else "other options"
            raise UsageError(
                f"work on {what} was begun here and is not done",
                where=str(folder),
                todo="give what was given then, choose another --out, or remove the folder",
            )
        return known
    with writing(folder):
        (folder / _SEEDS).unlink(missing_ok=True)
    read = sort_listing(listing, column, folder / _NAMES)
    state = _State(
        listing=digest, made_by=made_by, lines=read.lines, unusable=read.unusable, shown=read.shown, names=read.names
    )
    _commit(folder, state)
    return state


def _known(folder: Path) -> _State | None:
    path = folder / _STATE
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=_State)
    except (OSError, msgspec.DecodeError) as error:
        raise WeftError(
            f"it cannot be read: {error}", where=str(path), todo="remove the folder and begin anew"
        ) from error


def _commit(folder: Path, state: _State) -> None:
    with writing(folder / _STATE):
        replace_file(folder / _STATE, msgspec.json.encode(state))


class _Told(NamedTuple):
    """What the name servers say of a name."""

    size: int  # bytes of its line
    answer: Answer
    www: Answer | None  # None where that was not asked for
    wild: bool  # it has the addresses that any name of its suffix has


class _Work:
    """The names of one listing, asked for one after the other; the folder is its own."""

    def __init__(
        self,
        folder: Path,
        growing: IO[bytes],
        state: _State,
        making: Making,
        gate: Gate,
        clock: Clock,
        tell: Callable[[Progress], None],
    ) -> None:
        self._folder = folder
        self._growing = growing
        self._state = state
        self._making = making
        self.gate = gate
        self._clock = clock
        self._tell = tell
        self._chance = random.Random(clock.wall())
        self._suffixes: dict[str, asyncio.Task[frozenset[str]]] = {}
        self._names: Names | None = None
        self._length = state.length
        self._began = self._committed = self._told = clock.now()
        self._before = state.seconds, state.questions, state.done  # by earlier runs

    def __repr__(self) -> str:
        return f"_Work({self._state.done} of {self._state.names} names)"

    async def run(self, naming: Naming, asking: Asking) -> None:
        """Ask for every name that is left."""
        async with name_servers(naming, asking, self._clock) as names:
            self._names = names
            try:
                await names.each(self._left(), partial(self._ask, names), self._take)
            finally:  # also where it is interrupted
                self._commit()
                for task in self._suffixes.values():
                    task.cancel()
        self._say()

    def _left(self) -> Iterator[str]:
        with (self._folder / _NAMES).open("rb") as file:
            file.seek(self._state.at)
            for line in file:
                yield line.decode().rstrip("\n")

    async def _ask(self, names: Names, name: str) -> _Told:
        answer = await names.answer(name)
        www = None
        if self._making.www and not name.startswith("www.") and not answer.unregistered:
            www = await names.answer(f"www.{name}")
        wild = bool(answer.addresses) and frozenset(answer.addresses) <= await self._any_name(names, name)
        return _Told(len(name.encode()) + 1, answer, www, wild)

    def _any_name(self, names: Names, name: str) -> Awaitable[frozenset[str]]:
        """The addresses that any name has below the suffix of this one: none, mostly."""
        suffix = (registrable(name) or name).partition(".")[2]
        if suffix not in self._suffixes:
            self._suffixes[suffix] = asyncio.create_task(self._absurd(names, suffix))
        return asyncio.shield(self._suffixes[suffix])

    async def _absurd(self, names: Names, suffix: str) -> frozenset[str]:
        found = frozenset((await names.answer(absurd_name(suffix, self._chance))).addresses)
        if found and suffix not in self._state.wild:
            self._state.wild.append(suffix)
        return found

    def _take(self, name: str, told: _Told) -> None:
        """Write the seeds of a name, and count it."""
        state, counts = self._state, self._state.counts
        urls = [f"{self._making.scheme}://{host}/" for host, answer in self._hosts(name, told) if self._is_seed(answer)]
        if told.wild or told.answer.unregistered:
            counts.not_registered += 1
            urls = []
        elif urls:
            counts.with_seeds += 1
        elif told.answer.reason in _AWAY or (told.www is not None and told.www.reason in _AWAY):
            counts.failed += 1
        elif told.answer.addresses or (told.www is not None and told.www.addresses):
            counts.special += 1
        else:
            counts.no_address += 1
        data = "".join(f"{url}\n" for url in urls).encode()
        with writing(self._folder / _SEEDS):
            self._growing.write(data)
        state.seeds += len(urls)
        state.done += 1
        state.at += told.size
        self._length += len(data)
        now = self._clock.now()
        if now - self._committed >= _COMMIT:
            self._commit()
        if now - self._told >= _TELL:
            self._say()

    def _hosts(self, name: str, told: _Told) -> Iterator[tuple[str, Answer]]:
        yield name, told.answer
        if told.www is not None:
            yield f"www.{name}", told.www

    def _is_seed(self, answer: Answer) -> bool:
        if answer.addresses:
            return self.gate.choose(answer.addresses)[1] is None
        return self._making.keep_failed and answer.reason in _AWAY

    def _commit(self) -> None:
        """Have on disk what is done, and then that it is."""
        state, now = self._state, self._clock.now()
        with writing(self._folder / _SEEDS):
            self._growing.flush()
            os.fdatasync(self._growing.fileno())
        state.length = self._length
        state.seconds = self._before[0] + now - self._began
        state.questions = self._before[1] + (0 if self._names is None else self._names.questions)
        _commit(self._folder, state)
        self._committed = now

    def _say(self) -> None:
        state, now = self._state, self._clock.now()
        self._told = now
        rate = (state.done - self._before[2]) / (now - self._began) if now > self._began else 0.0
        left = (state.names - state.done) / rate if rate else None
        self._tell(Progress(state.done, state.names, state.seeds, rate, left))
