"""Seeds as they are given: files of them, and URLs on the command line. In: arguments. Out: texts, each with its place.

An argument is a file where there is one of that name, or - for standard input; otherwise it is a seed, and a host name
alone means its home page. Files may be packed by gzip or zstd.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from weft.errors import UsageError
from weft.graph.lines import chunks

# What is no seed when there is no such file: it begins as a path, or ends as the name of a list.
_is_file_name = re.compile(
    r"[./~].*|[^/:]*\.(?:txt|csv|tsv|list|lst|seeds|gz|zst|json|jsonl|cdxj?)", re.ASCII
).fullmatch


class Given(NamedTuple):
    """A seed as it was written."""

    where: str  # "seeds.txt, line 3"
    written: str


def given(arguments: Iterable[str]) -> Iterator[Given]:
    """The seeds of a command, in their order; empty lines and those with # are none."""
    for argument in arguments:
        path = Path(argument)
        if argument == "-":
            yield from _seeds(sys.stdin, "standard input")
        elif "://" not in argument and path.is_file():
            yield from _seeds(lines_of(path), argument)
        elif "://" not in argument and _is_file_name(argument):
            raise UsageError("there is no such file", where=argument, todo="give files with one URL a line, or URLs")
        else:
            yield Given("the command line", argument)


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a text file, plain or packed; what is no UTF-8 is shown as such."""
    for chunk in chunks(path, 1 << 20):
        if b"\0" in chunk:
            raise UsageError("this is no text file", where=str(path), todo="give a text file with one URL a line")
        yield from chunk.decode("utf-8", "replace").splitlines()


def _seeds(lines: Iterable[str], where: str) -> Iterator[Given]:
    for number, line in enumerate(lines, 1):
        written = line.strip().lstrip("\ufeff")
        if written and not written.startswith("#"):
            yield Given(f"{where}, line {number}", written)
