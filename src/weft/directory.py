"""A crawl's directory: what says which crawl it is, and who may write in it. In: a plan. Out: an error, or leave.

`crawl.toml` has the settings as resolved, `seeds.txt` the seeds; `log/settings-….toml` are those of each time that they
were others, so that an audit knows by what a visit is to be judged. A second run in the same directory goes on with the
crawl. It may change how fast it is run and have it collect more, but not make it another crawl. Secrets (values of
headers, a proxy's password) are in `secrets.toml`, which nobody but its owner can ever read; `crawl.toml` says only
that they are there. `hash.key` is what the crawl's frontiers hash URLs with, drawn when the crawl is made: it must not
be known to those who are crawled, and it must not change (decision 0033).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.clock import Clock, SystemClock
from weft.config import SECTIONS, Settings
from weft.disk import replace_file, writing
from weft.errors import UsageError, WeftError
from weft.frontier.blacklist import Blacklist
from weft.frontier.scope import Scope, changes
from weft.frontier.shared.opening import frontier_exists, open_frontier, remove_frontier
from weft.settings import load_toml
from weft.store.files import owner_of
from weft.store.places import LISTED, OWNER, check_folders, own_folders, take_folders
from weft.store.sealed import LIST
from weft.store.stored import STORED, stored_volumes
from weft.version import __version__

if TYPE_CHECKING:
    from weft.engine.application import Application, Together

FORMAT = 5  # of the directory; earlier ones are brought to it by `weft.upgrading`
SECRETS = "secrets.toml"
KEY = "hash.key"
SECRET = 16  # bytes of the secret in it
_STAMP = "%Y%m%dT%H%M%S.%fZ"  # when settings began to hold, in the name of their file
# Everything that a crawl puts into its directory.
_FILES = (
    "crawl.toml*",
    "secrets.toml*",
    "hash.key*",
    "seeds.txt*",
    "frontier.db*",
    "frontier.id*",
    "superseded.log",
    ".lock",
)
_LISTS = (LIST, f"{LISTED}*", STORED)
_FIRST = ("crawl.toml.new", "secrets.toml*", "hash.key*", "seeds.txt*", ".lock")  # before `crawl.toml` is there
_OURS = (
    *_FILES,
    *_LISTS,
    "workers",
    "log",
    "volumes",
    "pages",
    "links",
    "urls",
    "contents",
    "damaged",
    ".repair",
    "stage-*",
    "texts",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A crawl to be run."""

    seeds: list[str]  # in normal form
    out: Path
    settings: Settings
    application: Application | Together | None = None
    watched: bool = False  # run workers as processes of their own under a watchdog, be it only one
    fresh: bool = False  # remove the crawl that is there
    joins: str = ""  # the crawl, by its id, that it joins as a node: others began it

    @property
    def ordering(self) -> str:
        """The name of its ordering."""
        return "priority" if self.chosen else self.settings.running.ordering

    @property
    def chosen(self) -> bool:
        """Does an application choose what is requested, be it an object or a name?"""
        return self.application is not None or bool(self.settings.running.application)

    @property
    def private(self) -> bool:
        """May what the frontier remembers be secret: the cookies of a login, or what an application sends?"""
        return self.chosen or self.settings.secret


def check_directory(plan: Plan) -> None:
    """Is the directory new, or does it hold this very crawl?"""
    out = plan.out
    record = out / "crawl.toml"
    if not record.exists():
        if out.exists() and (not out.is_dir() or any(not _is_one_of(path, _FIRST) for path in out.iterdir())):
            raise UsageError("this is not empty, and no crawl of ours", where=str(out), todo="choose another --out")
        check_folders(out, plan.settings.storing.volumes)
        return
    known = load_toml(record)
    mine = {"ordering": plan.ordering, "seeds": _digest(plan.seeds)}
    for name, value in mine.items():
        was = known.get("crawl", {}).get(name)
        if was != value:
            said = f"its {name} was {was}, and is now {value}" if name != "seeds" else "its seeds are others"
            raise _foreign(out, said)
    before = Settings().with_file(record)
    for name in SECTIONS["urls"]:
        was, value = (getattr(held.urls, name) for held in (before, plan.settings))
        if was != value:
            raise _foreign(out, in_words(name, was, value))
    for name in SECTIONS["stages"]:  # all parts of a table have the same columns
        was, value = (getattr(held.stages, name) for held in (before, plan.settings))
        if was != value:
            raise _foreign(out, in_words(name, was, value))
    check_folders(out, plan.settings.storing.volumes)
    for change in changes(before.selection, plan.settings.selection):
        if change.how == "fixed":
            raise _foreign(out, in_words(*change[:3]))
        if change.how == "narrower":
            raise UsageError(
                f"a crawl can be made wider, not narrower: {in_words(*change[:3])}",
                where=str(out),
                todo="keep what was given before, choose another --out, or leave parts out by weft blacklist",
            )


def in_words(name: str, was: Any, now: Any) -> str:
    """A change of a setting, for a person.

    >>> in_words("types", (), ("application/pdf",)), in_words("max_depth", 15, 3)
    ('its types were none, and are now application/pdf', 'its max_depth was 15, and is now 3')
    """
    several = isinstance(was, tuple)
    return (
        f"its {name} {'were' if several else 'was'} {_plain(was)}, and {'are' if several else 'is'} now {_plain(now)}"
    )


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _foreign(out: Path, difference: str) -> UsageError:
    return UsageError(
        f"this directory belongs to another crawl: {difference}",
        where=str(out),
        todo="choose another --out, or repeat the command it was begun with",
    )


def stored_plan(out: Path) -> Plan:
    """The crawl in a directory, as it was begun."""
    record = out / "crawl.toml"
    if not record.exists():
        raise UsageError(
            "there is no crawl here", where=str(out), todo="give seeds to begin one, or the right directory"
        )
    seeds = (out / "seeds.txt").read_text(encoding="utf-8").split()
    settings = Settings().with_file(record)
    if (out / SECRETS).exists():
        settings = settings.with_file(out / SECRETS)
    if settings.incomplete:
        raise UsageError(
            f"this crawl has secrets, and {SECRETS} is not there",
            where=str(out),
            todo="put it back, or give the headers or the proxy again with the seeds",
        )
    return Plan(seeds=seeds, out=out, settings=settings)


def _digest(seeds: list[str]) -> str:
    return hashlib.sha256("\n".join(sorted(seeds)).encode()).hexdigest()[:16]


def write_settings(plan: Plan, clock: Clock | None = None) -> None:
    """Write the settings as resolved, beside and then in place."""
    head = (
        f"# A crawl by weft {__version__}. The settings as they were resolved; run the same command again to go on.\n\n"
        f'[crawl]\nformat = {FORMAT}\nversion = "{__version__}"\n'
        f'ordering = "{plan.ordering}"\nseeds = "{_digest(plan.seeds)}"\n\n'
    )
    private = plan.settings.secrets_toml()
    if not (plan.out / "crawl.toml").exists():
        draw_secret(plan.out)
    if private:
        _put(plan.out / SECRETS, f"# Secrets of this crawl: for its owner only.\n\n{private}", mode=0o600)
    _put(plan.out / "seeds.txt", "\n".join(plan.seeds) + "\n")
    _keep_settings(plan.out, head + plan.settings.to_toml(), clock or SystemClock())
    _put(plan.out / "crawl.toml", head + plan.settings.to_toml())
    take_folders(plan.out, plan.settings.storing.volumes)
    if not private:
        with writing(plan.out / SECRETS):
            (plan.out / SECRETS).unlink(missing_ok=True)


def _keep_settings(out: Path, text: str, clock: Clock) -> None:
    """Keep the settings beside those of earlier runs, where they are others."""
    known = kept_settings(out)
    if not known or known[-1][1].read_text(encoding="utf-8") != text:
        stamp = datetime.fromtimestamp(clock.wall(), UTC).strftime(_STAMP)
        with writing(out / "log"):
            (out / "log").mkdir(exist_ok=True)
        _put(out / "log" / f"settings-{stamp}.toml", text)


def kept_settings(out: Path) -> list[tuple[float, Path]]:
    """The settings of a crawl: since when they hold (wall time), the oldest first."""
    found = [
        (datetime.strptime(path.stem.removeprefix("settings-"), _STAMP).replace(tzinfo=UTC).timestamp(), path)
        for path in (out / "log").glob("settings-*.toml")
    ]
    return sorted(found)


def seeds_of(out: Path) -> list[str]:
    """The seeds that a crawl was begun with."""
    path = out / "seeds.txt"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def laws_of(out: Path, settings: Settings) -> Scope:
    """The laws of a crawl, with what was said since it began: what its scope grew by, and its blacklist."""
    scope = Scope(settings.selection, settings.overrides)
    if frontier_exists(out):
        shared = open_frontier(out)
        try:
            scope.blacklist = Blacklist(shared.blacklist())
            for seed in shared.scope():
                scope.admit(seed)
        finally:
            shared.close()
    return scope


def draw_secret(out: Path) -> None:
    """Draw what a crawl's frontiers hash URLs with, and put it where only its owner can read it."""
    secret = secrets.token_bytes(SECRET)
    _put(out / KEY, f"{secret.hex()} {_check_of(secret)}\n", mode=0o600)


def secret_of(out: Path) -> bytes:
    """What a crawl's frontiers hash URLs with."""
    path = out / KEY
    try:
        text, _, check = path.read_text(encoding="ascii").strip().partition(" ")
        secret = bytes.fromhex(text)
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is damaged"
        raise _no_secret(path, str(what)) from error
    if len(secret) != SECRET or check != _check_of(secret):
        raise _no_secret(path, "it is damaged")
    return secret


def group_keys(out: Path) -> Callable[[str], int] | None:
    """The keys by which groups are on the shelf, for who may read the crawl's secret."""
    from weft.frontier.keyed import Keyed  # numpy comes with it

    try:
        return Keyed(secret_of(out)).of
    except WeftError:
        return None


def _check_of(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()[:16]


def _no_secret(path: Path, what: str) -> WeftError:
    return WeftError(
        f"the crawl's hash key cannot be read: {what}",
        where=str(path),
        todo=f"put it back from a copy, or have `weft repair {path.parent}` make the frontier anew with another",
    )


def _put(path: Path, text: str, *, mode: int = 0o666) -> None:
    with writing(path):
        replace_file(path, text.encode(), mode=mode)


def remove_crawl(out: Path) -> None:
    """Remove the crawl in a directory. What is no crawl of ours, is running, or has files of others in it is left."""
    if not (out / "crawl.toml").exists():
        return  # new, or refused by `check_directory`
    with locked(out):
        found = sorted(out.iterdir())
        foreign = [path.name for path in found if not _is_one_of(path, _OURS)]
        if foreign:
            raise UsageError(
                f"there is more here than a crawl, and nothing was removed: {', '.join(foreign)}",
                where=str(out),
                todo="move it away, or choose another directory",
            )
        stored = stored_volumes(out)
        if stored:
            raise UsageError(
                f"{len(stored)} volumes of this crawl are in a store ({next(iter(stored.values())).url} …), and "
                "are not removed from here",
                where=str(out),
                todo="choose another --out; or remove the objects, and then the directory",
            )
        remove_frontier(out)
        _remove_volumes(out)
        with writing(out):
            for path in sorted(found, key=lambda path: path.name == "crawl.toml"):  # it goes last: it says what this is
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()


def _remove_volumes(out: Path) -> None:
    """Remove what a crawl has in directories elsewhere; what else is there stays."""
    for folder in list(own_folders(out)):
        with writing(folder):
            for path in sorted(folder.iterdir(), key=lambda path: path.name == OWNER):  # it goes last
                if owner_of(path) is not None or path.name == OWNER:
                    path.unlink()


def _is_one_of(path: Path, patterns: tuple[str, ...]) -> bool:
    return any(path.match(pattern) for pattern in patterns)


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep a second crawl out of the directory."""
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        handle = os.open(out / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise WeftError(
                "another weft crawl is running in this directory", where=str(out), todo="wait for it, or stop it first"
            ) from error
        yield
    finally:
        os.close(handle)
