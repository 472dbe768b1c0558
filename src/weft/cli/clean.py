"""`weft clean`: tidy up after a crawl that does not run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from weft.clean import Cleaned, clean_crawl


def clean(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    json: Annotated[bool, Parameter(help="As JSON.", negative=())] = False,
) -> None:
    """Tidy up after a crawl that does not run.

    What dead workers left is handed over, files that a crash left open are sealed, and what no commit names is removed.
    Refused while the crawl runs, and where it is damaged: see `weft repair`.
    """
    done = clean_crawl(crawl)
    if json:
        print(msgspec.json.encode(done).decode())
    else:
        _print(done)


def _print(done: Cleaned) -> None:
    for handed in done.handed_over:
        print(handed)
    for name in done.sealed:
        print(f"sealed   {name}")
    for name in done.removed:
        print(f"removed  {name}")
    if not (done.handed_over or done.sealed or done.removed):
        print("nothing to do")
