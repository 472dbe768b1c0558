"""Lists that are given as a file. In: a file, or - for standard input. Out: its lines, or what is wrong with it."""

from __future__ import annotations

import sys
from pathlib import Path

from weft.errors import UsageError


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
