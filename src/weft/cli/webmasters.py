"""`weft webmasters`: the page that a crawl's User-Agent points at."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def webmasters(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl, or its settings file before there is one.")],
    /,
    *,
    out: Annotated[
        Path | None, Parameter(help="The page to write; webmasters.html in the current directory if not given.")
    ] = None,
    address: Annotated[
        list[str] | None,
        Parameter(help="An address, or a range, that the crawl comes from.", consume_multiple=True, negative=()),
    ] = None,
) -> None:
    """Write a page for webmasters: who crawls, why, and how to be left alone.

    One HTML page without any other file, to be put where the contact of the crawl points at. It is made of the settings
    alone (`contact`, `operator`, `description`, and those of politeness), and says nothing of any site.

    For example:

        weft webmasters settings.toml --address 192.0.2.0/28 --out crawler.html
    """
    from weft.config import Settings
    from weft.disk import replace_file, writing
    from weft.errors import UsageError
    from weft.webmasters import made_page

    file = crawl / "crawl.toml" if crawl.is_dir() else crawl
    if not file.exists():
        raise UsageError(
            "there is no crawl and no settings file here", where=str(crawl), todo="give the one or the other"
        )
    page = made_page(Settings().with_file(file), address or ())
    path = out or Path("webmasters.html")
    with writing(path):
        replace_file(path, page.html().encode())
    print(f"weft: {path} is the page for webmasters", file=sys.stderr)
