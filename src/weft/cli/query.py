"""`weft query`: SQL over the columns of a crawl, also while it runs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.cells import cell_len, set_cell_size

from weft.cli.terminal import Terminal
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.store.asking import Answer

_SHOWN = 100  # rows of a table
_NARROW = 12  # characters that are left of a text at least
_CONTROLS = dict.fromkeys(
    [*range(32), *range(127, 160)], "\ufffd"
)  # the title of a page may hold what steers terminals


def query(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    sql: Annotated[
        str, Parameter(help="A SELECT over the tables pages, links and urls, and those of stages (stage_NAME).")
    ],
    /,
    *,
    json: Annotated[bool, Parameter(help="One JSON object a line; ids are text.", negative=())] = False,
    csv: Annotated[bool, Parameter(help="As CSV, with the names in the first line.", negative=())] = False,
) -> None:
    """Ask the columns of a crawl in SQL.

    Works beside a running crawl, as of its last second. It is the SQL of DuckDB, and it reads these tables and
    nothing else. "describe pages" tells what is in one; docs/reference/columns.md says what it means.

    For example:

        weft query crawls/first "select status, count(*) from pages group by all"
    """
    # Others do without DuckDB, and a list of commands should, too.
    from weft.exporting.lines import write_csv, write_json
    from weft.store.asking import ask
    from weft.store.reading import CrawlFiles

    if json and csv:
        raise UsageError("both --json and --csv are given", todo="choose one of them")
    with tempfile.TemporaryDirectory(prefix="weft-query-") as folder:
        answer = ask(CrawlFiles(crawl), sql, Path(folder))
        if json or csv:
            (write_json if json else write_csv)(answer.names, answer.rows, sys.stdout.buffer)
        else:
            _print_table(answer)


def _print_table(answer: Answer) -> None:
    """A table that fits the terminal: texts are cut there, numbers are not. Where that leaves too little for them,
    each row stands by itself, a line for each column.
    """
    rows = [[_shown(value) for value in row] for _, row in zip(range(_SHOWN), answer.rows, strict=False)]
    terminal = Terminal()
    widths = [max(map(cell_len, column)) for column in zip(answer.names, *rows, strict=True)]
    least = [width if number else min(width, _NARROW) for width, number in zip(widths, answer.numbers, strict=True)]
    room = terminal.width - 2 * (len(widths) - 1) if terminal.is_terminal else sum(widths)  # elsewhere nothing is cut
    if sum(least) > room:
        _print_upright(answer.names, rows, terminal.width)
    else:
        while (excess := sum(widths) - room) > 0:  # the widest text gives way to the second widest, and so on
            spare = [width - low for width, low in zip(widths, least, strict=True)]
            place = spare.index(max(spare))
            widths[place] -= min(excess, max(1, spare[place] - sorted(spare)[-2] if len(spare) > 1 else excess))
        for row in [answer.names, *rows]:
            cells = map(_fitted, row, widths, answer.numbers)
            print("  ".join(cells).rstrip())
    if next(answer.rows, None) is not None:
        print(f"weft: these are the first {_SHOWN} rows; --csv and --json write all of them", file=sys.stderr)


def _fitted(text: str, width: int, number: bool) -> str:
    """A text of so many cells."""
    if (cells := cell_len(text)) > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - cells) + text if number else text + " " * (width - cells)


def _print_upright(names: list[str], rows: list[list[str]], width: int) -> None:
    wide = max(map(len, names))
    for number, row in enumerate(rows, 1):
        print(f"row {number}")
        for name, value in zip(names, row, strict=True):
            print(f"  {name:<{wide}}  {_fitted(value, max(width - wide - 4, _NARROW), number=False).rstrip()}")


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return (str(value).lower() if isinstance(value, bool) else str(value)).translate(_CONTROLS)
