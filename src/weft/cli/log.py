"""`weft log`: what was fetched, one line each."""

from __future__ import annotations

import json as json_text
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from weft.errors import UsageError
from weft.model import Reason
from weft.store.log import FIELDS
from weft.urls import site_of

_NO_ROBOTS = Reason.STATUS_4XX.value  # a site without a robots.txt has not failed


def log(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    failed: Annotated[bool, Parameter(help="Only fetches that failed.", negative=())] = False,
    reason: Annotated[str | None, Parameter(help="Only fetches that failed for this reason.")] = None,
    site: Annotated[str | None, Parameter(help="Only this site.")] = None,
    last: Annotated[int | None, Parameter(help="Only the last so many lines.")] = None,
    follow: Annotated[bool, Parameter(help="Go on as the crawl does, until Ctrl-C.", negative=())] = False,
    json: Annotated[bool, Parameter(help="One JSON object a line.", negative=())] = False,
) -> None:
    """Show the log of a crawl: time, result, bytes, seconds, kind, depth, attempt, URL, type, address, digest, via."""
    path = crawl / "log" / "crawl.log"
    if not path.exists():
        raise UsageError("there is no crawl here", where=str(crawl), todo="give the directory of a crawl (its --out)")
    wanted: Iterator[str] = (
        line for line in _lines(path, follow=follow) if _keeps(line, failed=failed, reason=reason, site=site)
    )
    if last is not None and not follow:
        wanted = iter(list(wanted)[-last:])
    for line in wanted:
        print(json_text.dumps(dict(zip(FIELDS, line.split("\t"), strict=True)), ensure_ascii=False) if json else line)


def _lines(path: Path, *, follow: bool) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        rest = ""
        while True:
            text = file.readline()
            if text.endswith("\n"):
                yield (rest + text).rstrip("\n")
                rest = ""
            elif follow:
                rest += text
                time.sleep(0.2)
            else:
                return


def _keeps(line: str, *, failed: bool, reason: str | None, site: str | None) -> bool:
    fields = line.split("\t")
    if len(fields) != len(FIELDS):
        return False
    result = fields[1].split()
    if failed and (len(result) == 1 or (fields[4] == "robots" and _NO_ROBOTS in result)):
        return False
    if reason is not None and reason not in result[1:]:
        return False
    return site is None or site_of(fields[7]) == site
