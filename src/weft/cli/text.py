"""`weft text`: the texts of a crawl, afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.table import Table

from weft.cli.options import flags_of, given_of
from weft.cli.terminal import Terminal
from weft.stages.language import Languages
from weft.stages.text import Texts

if TYPE_CHECKING:
    from weft.texts import Report

_DEFAULTS = {"text": "main"}
TextFlags = flags_of("TextFlags", {"Texts": (Texts, ()), "Languages": (Languages, ())}, _DEFAULTS)


def text(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    out: Annotated[Path | None, Parameter(help="Directory for the texts; texts/ of the crawl, if not given.")] = None,
    json: Annotated[bool, Parameter(help="Say as JSON what came of each format.", negative=())] = False,
    flags: Any = TextFlags(),  # noqa: B008  every field is None
) -> int:
    """Make texts of what a crawl has stored, in the formats that can be read, and say what came of each.

    They are a table in Parquet, and conversion records where --text-as says so. Works beside a running crawl; the same
    command again goes on where it was ended, and takes up what is new. Each content has its text once, however often it
    came.

    For example:

        weft text crawls/first --text both

        weft text crawls/first --text-as warc --text-types pdf --out texts/pdf --json
    """
    from weft.clock import SystemClock
    from weft.texts import make_texts  # most of weft comes with it

    terminal = Terminal(stderr=True, quiet=json)

    def tell(done: int) -> None:
        if done % 1000 == 0:
            terminal.print(f"{done:,} texts")

    settings = Texts(**_DEFAULTS | given_of(flags, Texts))
    languages = Languages(**given_of(flags, Languages))
    report = make_texts(crawl, out, settings, languages, SystemClock(), tell)
    if json:
        print(msgspec.json.encode(report).decode())
    else:
        _print(report)
    return 0


def _print(report: Report) -> None:
    """The table, as P3 has it: what was extracted, and why the rest was not."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("format", "contents", "extracted", "MB", "ms each", "MB/s"):
        table.add_column(name, justify="left" if name == "format" else "right")
    table.add_column("why not, or not whole")
    for name, of in report.formats.items():
        said = ", ".join(
            f"{reason} {count:,}" for reason, count in sorted(of.reasons.items(), key=lambda each: -each[1])
        )
        speed = f"{of.bytes / 1e6 / of.seconds:,.1f}" if of.seconds else ""
        table.add_row(
            name,
            f"{of.contents:,}",
            f"{of.extracted / of.contents:.0%}",
            f"{of.bytes / 1e6:,.1f}",
            f"{of.seconds * 1e3 / of.contents:,.1f}",
            speed,
            said,
        )
    terminal = Terminal(soft_wrap=True)
    terminal.width = max(terminal.width, 120)
    terminal.print(table)
    terminal.print(
        f"{report.contents:,} contents, {report.new:,} of them now; {report.duplicates:,} duplicates of others have no "
        f"text of their own. They are in {report.out}"
    )


text.__annotations__["flags"] = Annotated[TextFlags, Parameter(name="*")]
