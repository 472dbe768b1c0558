"""A crawl of an earlier format goes on with this version. In: its directory. Out: the same crawl in the format of this
version; the earlier one reads it no more.

What is new in a format mostly has a key and a default, and is read without any of this. Where that is not enough the
format of the directory is raised by one, and here stands the step that leads to it from the one before. A step may
be cut short anywhere: what has changed already says so itself, and is passed over when the next run repeats it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from weft.directory import FORMAT
from weft.errors import UsageError
from weft.frontier.durable.lifting import Change, lift
from weft.frontier.shared.sqlite_file import files_of, migrate
from weft.settings import load_toml


class Step(NamedTuple):
    """From one format of the directory to the next: what changes."""

    logs: tuple[int, Change] | None = None  # of workers: their version, and how what a commit says changes
    frontier: tuple[int, str] | None = None  # the global frontier on one machine: its version, and statements of SQL
    also: Callable[[Path], None] | None = None  # whatever else; it may find that it was done already


_PHASES = (
    "alter table crawl add column phase int not null default 0; "
    "alter table workers add column resting int not null default 0"
)
STEPS: dict[int, Step] = {4: Step(frontier=(3, _PHASES))}  # by the format of the directory that they begin with


def check_format(out: Path) -> None:
    """Can this version go on with the crawl that is here, if there is one? Nothing is changed."""
    form, version = _format_of(out)
    if form > FORMAT or any(each not in STEPS for each in range(form, FORMAT)):
        raise UsageError(
            f"this crawl was begun by weft {version} (format {form}), and this version reads format {FORMAT}",
            where=str(out),
            todo="go on with the version that began it, or choose another --out",
        )


def bring_up(out: Path, say: Callable[[str], None]) -> None:
    """Bring the crawl to the format of this version. That it has it is noted with its settings, when all is done."""
    form, version = _format_of(out)
    for each in range(form, FORMAT):
        step = STEPS[each]
        if step.logs is not None:
            for folder in sorted(out.glob("workers/*")):
                lift(folder / "frontier.log", *step.logs)
        if step.frontier is not None:
            for path in files_of(out)[:1]:
                migrate(path, *step.frontier)
        if step.also is not None:
            step.also(out)
    if form < FORMAT:
        say(f"this crawl was begun by weft {version}, in format {form}: it has format {FORMAT} now")


def _format_of(out: Path) -> tuple[int, str]:
    """The format of the crawl, ours where there is none, and the version of weft that began it."""
    record = out / "crawl.toml"
    known = load_toml(record).get("crawl", {}) if record.exists() else {}
    form = known.get("format") if record.exists() else FORMAT
    return form if isinstance(form, int) else 0, known.get("version", "unknown")  # anybody may have edited it
