"""`weft repair`: look for damaged files, say what is lost, and mend the rest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from weft.repair import Repair, repair_crawl


def repair(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    yes: Annotated[bool, Parameter(help="Repair it without asking.", negative=())] = False,
    check: Annotated[bool, Parameter(help="Only look; exit with 1 where something is damaged.", negative=())] = False,
    json: Annotated[bool, Parameter(help="As JSON.", negative=())] = False,
) -> int:
    """Look for damaged files of a crawl, say what is lost, and mend the rest.

    Every byte of logs, volumes and columns is looked at, and the global frontier as SQLite checks it.
    What a repair would lose is said before anything is changed, and nothing is
    changed unless `--yes` is given, or you say so when asked. What is taken out goes to `CRAWL/damaged`: nothing is
    deleted. Afterwards the crawl goes on with the same command, and pages that were lost are fetched again. Refused
    while the crawl runs.
    """

    def decide(report: Repair) -> bool:
        if not json:
            _print(report)
        if yes or check or json:
            return yes and not check
        if not sys.stdin.isatty():
            print("nothing was changed: give --yes to repair it")
            return False
        return input("repair it? [y/N] ").strip().lower() in ("y", "yes")

    report = repair_crawl(crawl, decide)
    if json:
        print(msgspec.json.encode(report).decode())
    elif not report.damages:
        print("nothing is damaged")
    elif report.done:
        print("repaired: run the same command again to go on")
    return 1 if report.damages and not report.done else 0


def _print(report: Repair) -> None:
    for damage in report.damages:
        print(f"damaged  {damage}")
    print("to be repaired so:")
    for line in report.losses:
        print(f"  {line}")
