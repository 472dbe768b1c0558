"""`weft log`: what was fetched, one line each."""

from __future__ import annotations

import difflib
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Annotated

from cyclopts import Parameter

from weft.errors import UsageError, no_crawl
from weft.model import Reason
from weft.store.log import FIELDS, as_json, fields_of, result_of
from weft.store.rotation import log_files, opened
from weft.urls import site_of

_NO_ROBOTS = Reason.STATUS_4XX.value  # a site without a robots.txt has not failed
_RESULT, _KIND, _URL = map(FIELDS.index, ("result", "kind", "url"))
_LOOK = 0.2  # seconds between two looks for new lines
_PATIENCE = 10  # looks at a log that was put aside: workers may still write to it for a second or so


def log(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    failed: Annotated[bool, Parameter(help="Only fetches that failed.", negative=())] = False,
    reason: Annotated[str | None, Parameter(help="Only fetches that failed for this reason.")] = None,
    cut: Annotated[bool, Parameter(help="Only fetches whose content was cut by a limit.", negative=())] = False,
    site: Annotated[str | None, Parameter(help="Only this site.")] = None,
    last: Annotated[int | None, Parameter(help="Only the last so many lines.")] = None,
    follow: Annotated[bool, Parameter(help="Go on as the crawl does, until Ctrl-C.", negative=())] = False,
    json: Annotated[bool, Parameter(help="One JSON object a line.", negative=())] = False,
) -> None:
    """Show the log of a crawl: time, result, bytes, seconds, kind, depth, attempt, URL, type, address, digest, via.

    Logs that were put aside because they were full, or by logrotate, are read too, the oldest first. It makes no
    difference whether they were written as text or as JSON (--log json of weft crawl).
    """
    path = crawl / "log" / "crawl.log"
    _check(crawl, path, reason=reason, last=last)
    show = as_json if json else "\t".join

    def wanted(lines: Iterable[str]) -> Iterator[list[str]]:
        found = map(fields_of, lines)
        return (fields for fields in found if _keeps(fields, failed=failed, reason=reason, cut=cut, site=site))

    with closing(_Reading(path)) as reading:
        found = wanted(reading.written())
        for fields in found if last is None else deque(found, maxlen=last):
            print(show(fields))
        for fields in wanted(reading.new()) if follow else ():
            print(show(fields), flush=True)


def _check(crawl: Path, path: Path, *, reason: str | None, last: int | None) -> None:
    if not (crawl / "crawl.toml").exists() and not log_files(path):
        raise no_crawl(str(crawl))
    if last is not None and last < 0:
        raise UsageError(f"--last {last}: there are no lines before the first", todo="give 0 or more")
    known = [each.value for each in Reason]
    if reason is not None and reason not in known:
        close = difflib.get_close_matches(reason, known, n=1)
        todo = f"did you mean {close[0]}? " if close else ""
        raise UsageError(f"there is no reason called '{reason}'", todo=f"{todo}known: {', '.join(known)}")


class _Reading:
    """The lines of a log, over all its files."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None
        self._rest = ""  # of a line that is not whole yet

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            self._file.close()

    def written(self) -> Iterator[str]:
        """What is there."""
        for path in log_files(self._path):
            yield from self._go_on(path)

    def new(self) -> Iterator[str]:
        """What comes, without end."""
        looks = 0
        while True:
            yield from self._lines()
            time.sleep(_LOOK)
            if self._file is not None and _same(self._file, self._path):
                looks = 0
                continue
            looks += 1
            following = self._next() if looks >= _PATIENCE or self._file is None else None
            if following is not None:
                looks = 0
                yield from self._lines()
                yield from self._go_on(following)

    def _go_on(self, path: Path) -> Iterator[str]:
        try:
            file = opened(path)
        except OSError:  # moved in this moment
            return
        self.close()
        self._file, self._rest = file, ""
        yield from self._lines()

    def _next(self) -> Path | None:
        """The file behind the one that was read last."""
        files = log_files(self._path)
        if self._file is None:
            return files[0] if files else None
        mine = [place for place, path in enumerate(files) if _same(self._file, path)]
        rest = files[mine[-1] + 1 :] if mine else [path for path in files if path == self._path]
        return rest[0] if rest else None

    def _lines(self) -> Iterator[str]:
        while self._file is not None and (text := self._file.readline()):
            self._rest += text
            if text.endswith("\n"):
                line, self._rest = self._rest.rstrip("\n"), ""
                yield line


def _same(file: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _keeps(fields: list[str], *, failed: bool, reason: str | None, cut: bool, site: str | None) -> bool:
    if not fields:  # the line is not whole
        return False
    why, cause, _ = result_of(fields[_RESULT])
    if failed and (why is None or (fields[_KIND] == "robots" and why == _NO_ROBOTS)):
        return False
    if (cut and cause is None) or (reason is not None and reason != why):
        return False
    return site is None or site_of(fields[_URL]) == site
