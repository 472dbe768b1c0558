"""`weft reproduce`: the papers' experiments, beside what was published."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from weft.reproduce.scale import Scale

_SCALE = Scale()


def reproduce(  # noqa: PLR0913  one for each option
    *,
    out: Annotated[Path, Parameter(help="Directory to write the report to; a report that is there is replaced.")],
    sites: Annotated[int, Parameter(help="Sites of the main webs.")] = _SCALE.sites,
    pages: Annotated[int, Parameter(help="Pages of the main webs.")] = _SCALE.pages,
    sweep_pages: Annotated[int, Parameter(help="Pages of the webs for the sweeps over K and r.")] = _SCALE.sweep_pages,
    seeds: Annotated[int, Parameter(help="How many webs of each kind.")] = _SCALE.seeds,
    quick: Annotated[bool, Parameter(help="A tenth of everything.", negative=())] = False,
    data: Annotated[Path | None, Parameter(help="Directory of real graphs; without it they are left out.")] = None,
    processes: Annotated[int, Parameter(help="Processes that simulate.")] = 2,
    live: Annotated[bool, Parameter(help="Also crawl the testbed, and hold that against the simulation.")] = True,
    docs: Annotated[Path | None, Parameter(help="Documentation to write reproduction.md and its figures into.")] = None,
) -> int:
    """Repeat the experiments of the papers on ordering, and say what comes out and what does not.

    Webs like those of the papers are generated, every ordering is simulated on them, and each published number stands
    beside ours with a verdict. At full size it takes some 20 minutes on two cores.

    For example:

        weft reproduce --out reproduction --quick
    """
    from weft.reproduce.pipeline import reproduce as do
    from weft.reproduce.report import write_docs

    scale = Scale(sites=sites, pages=pages, sweep_pages=sweep_pages, seeds=seeds)
    values = do(scale.tenth() if quick else scale, out, data=data, processes=processes, crawl=live, tell=_tell)
    if docs is not None:
        write_docs(values, docs)
    rows = (*values["values"], *values["claims"])
    good = sum(row["verdict"] == "comes out" for row in rows)
    print(f"{good} of {len(rows)} published numbers and sentences come out: see {out}/index.html")
    return 0


def _tell(done: int, of: int, key: str, took: float) -> None:
    print(f"{done:5} of {of}  {key}  {took:.1f} s", file=sys.stderr, flush=True)
