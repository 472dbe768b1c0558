"""A crawl's directory: what says which crawl it is, and who may write in it. In: a plan. Out: an error, or leave.

`crawl.toml` has the settings as resolved, `seeds.txt` the seeds. A second run in the same directory goes on with the
crawl, and may change how fast it is run but not what it collects.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from weft.config import SECTIONS, Settings
from weft.engine.application import Application, Together
from weft.errors import UsageError, WeftError
from weft.settings import load_toml
from weft.store.files import sync_folder, writing
from weft.version import __version__

FORMAT = 2  # of the directory; another one is not read
# Settings that make a crawl what it is: another run in the same directory must have the same.
_FIXED = ("selection", "urls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A crawl to be run."""

    seeds: list[str]  # in normal form
    out: Path
    settings: Settings
    application: Application | Together | None = None
    watched: bool = False  # run workers as processes of their own under a watchdog, be it only one

    @property
    def ordering(self) -> str:
        """The name of its ordering."""
        return "priority" if self.application is not None else self.settings.running.ordering


def check_directory(plan: Plan) -> None:
    """Is the directory new, or does it hold this very crawl?"""
    out = plan.out
    record = out / "crawl.toml"
    if not record.exists():
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise UsageError("this is not empty, and no crawl of ours", where=str(out), todo="choose another --out")
        return
    known = load_toml(record)
    form = known.get("crawl", {}).get("format")
    if form != FORMAT:
        version = known.get("crawl", {}).get("version", "unknown")
        raise UsageError(
            f"this crawl was begun by weft {version} (format {form}), and this version reads format {FORMAT}",
            where=str(out),
            todo="go on with the version that began it, or choose another --out",
        )
    mine = {"ordering": plan.ordering, "seeds": _digest(plan.seeds)}
    for name, value in mine.items():
        was = known.get("crawl", {}).get(name)
        if was != value:
            said = f"its {name} was {was}, and is now {value}" if name != "seeds" else "its seeds are others"
            raise _foreign(out, said)
    before = Settings().with_file(record)
    for section in _FIXED:
        for name in SECTIONS[section]:
            was, value = (getattr(getattr(held, section), name) for held in (before, plan.settings))
            if was != value:
                raise _foreign(out, f"its {name} was {was!r}, and is now {value!r}")


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
    return Plan(seeds=seeds, out=out, settings=Settings().with_file(record))


def _digest(seeds: list[str]) -> str:
    return hashlib.sha256("\n".join(sorted(seeds)).encode()).hexdigest()[:16]


def write_settings(plan: Plan) -> None:
    """Write the settings as resolved, beside and then in place."""
    head = (
        f"# A crawl by weft {__version__}. The settings as they were resolved; run the same command again to go on.\n\n"
        f'[crawl]\nformat = {FORMAT}\nversion = "{__version__}"\n'
        f'ordering = "{plan.ordering}"\nseeds = "{_digest(plan.seeds)}"\n\n'
    )
    for name, text in (("seeds.txt", "\n".join(plan.seeds) + "\n"), ("crawl.toml", head + plan.settings.to_toml())):
        path = plan.out / name
        with writing(path):
            beside = path.with_suffix(path.suffix + ".new")
            beside.write_text(text, encoding="utf-8")
            with beside.open("rb") as file:
                os.fsync(file.fileno())
            beside.rename(path)
            sync_folder(plan.out)


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
