"""Lists that are given as a file. In: a file, or - for standard input. Out: its lines, or what is wrong with it; of
seeds, those that can be used.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from weft.errors import UsageError

_MOST_SHOWN = 20  # unusable lines


def lines_of(file: Path, what: str, form: str) -> list[str]:
    """The lines of a text file; `what` they are and in what `form` is for the message."""
    todo = f"give a text file with {form}"
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {what}: {error.strerror}", where=str(file), todo=todo) from error
    if "\0" in text:
        raise UsageError(f"cannot read {what}: this is no text file", where=str(file), todo=todo)
    return text.lstrip("\ufeff").splitlines()


def given_seeds(
    seeds: Sequence[str], file: Path | None, *, strict: bool, credentials: dict[str, str] | None = None
) -> list[str]:
    """The usable seeds of the command line and of a file; the others are told on standard error.

    With `strict` one that is not usable is an error. User names and passwords in them go into `credentials`, by site,
    where that is given.
    """
    from weft.app import usable_seeds  # most of weft comes with it, which other verbs do not need

    texts, where = list(seeds), "the command line"
    if file is not None:
        texts, where = texts + lines_of(file, "the seeds", "one URL a line"), str(file)
    usable, unusable = usable_seeds(texts, where=where, strict=strict, credentials=credentials)
    for line in unusable[:_MOST_SHOWN]:
        print(f"weft: skipped: {line}", file=sys.stderr)
    if len(unusable) > _MOST_SHOWN:
        print(f"weft: skipped: {len(unusable) - _MOST_SHOWN} more", file=sys.stderr)
    return usable
