"""`weft show`: a page out of the archive."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from weft.errors import UsageError, WeftError
from weft.fetch.headers import parse_head
from weft.parse.decode import decode_content
from weft.store.reading import CrawlFiles, ids_as_text
from weft.urls import normal_form


def show(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    url: Annotated[str, Parameter(help="The page.")],
    /,
    *,
    headers: Annotated[bool, Parameter(help="Its HTTP header instead of its content.", negative=())] = False,
    raw: Annotated[bool, Parameter(help="Header and content as stored, nothing decoded.", negative=())] = False,
    json: Annotated[bool, Parameter(help="What is known of it, as JSON; ids are text.", negative=())] = False,
) -> None:
    """Write a page as it was fetched to standard output. A duplicate is shown from where its content is stored."""
    files = CrawlFiles(crawl)
    normal = normal_form(url)
    if type(normal) is not str:
        raise UsageError(f"this is no URL of the web: {url}", todo="give it as it stands in the log")
    rows = [row for row in files.fetches(normal) if row["volume"] is not None]
    if not rows:
        raise WeftError(f"{normal} is not in the archive", where=str(crawl), todo=f"weft explain {crawl} '{normal}'")
    row = rows[-1]
    if json:
        print(msgspec.json.encode(ids_as_text(row)).decode())
        return
    record = files.record(row)
    head = record.head
    body = b"" if headers else files.body(row, record)
    out = sys.stdout.buffer
    if headers:
        out.write(head)
    elif raw:
        out.write(head + body)
    else:
        _, _, fields = parse_head(head.splitlines(keepends=True))
        content, reason = decode_content(body, fields.get("content-encoding", ""), 1 << 30)
        out.write(content if reason is None else body)
    out.flush()
