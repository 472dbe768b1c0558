"""`weft seeds check`, `from-domains`, `from-crawl`, `from-cdx` and `report`: seeds before a crawl, and after it."""

from __future__ import annotations

import csv as comma_separated
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from weft.cli.crawl import settings_of
from weft.cli.options import flags_of, given, given_of
from weft.cli.terminal import Terminal
from weft.clock import Clock, SystemClock
from weft.config import Settings
from weft.engine.gate import Identity
from weft.errors import UsageError
from weft.fetch.options import Naming
from weft.frontier.scope import Selection
from weft.seeding.asking import Asking
from weft.seeding.captures import Counting, from_cdx
from weft.seeding.checking import Checked, Report, check_seeds
from weft.seeding.domains import Made, Making, from_domains
from weft.seeding.domains import Progress as Done
from weft.seeding.earlier import Choosing, from_crawl
from weft.seeding.fetching import fetch_seeds
from weft.seeding.given import given as texts_of
from weft.seeding.outcomes import HOWS, Outcome, Seeds, seeds_report
from weft.seeding.written import write_seeds
from weft.units import span

_SHOWN = 50  # rows of a table
_WIDTH = 130  # a narrower terminal breaks the lines itself, a pipe need not
_LINE_EVERY = 5.0  # seconds between lines where there is no terminal
_ABOUT = ("operator", "description", "collection")  # of no matter here
_ASKING = "Asking name servers"
CheckFlags = flags_of(
    "CheckFlags",
    {
        "Who crawls": (Identity, _ABOUT),
        "What is crawled": (Selection, ()),
        "Names": (Naming, ()),
        _ASKING: (Asking, ()),
    },
)
DomainFlags = flags_of(
    "DomainFlags",
    {
        "What is made of a name": (Making, ()),
        "Addresses": (Identity, (*_ABOUT, "contact", "agent")),
        "Names": (Naming, ()),
        _ASKING: (Asking, ()),
    },
)
CrawlFlags = flags_of("CrawlFlags", {"Which sites": (Choosing, ())})
CdxFlags = flags_of("CdxFlags", {"Which hosts": (Counting, ())})

Json = Annotated[bool, Parameter(help="Print the report as JSON.", negative=())]
Out = Annotated[Path | None, Parameter(help="File for the seeds, one a line; without it they are printed.")]


def check(
    *seeds: Annotated[
        str,
        Parameter(
            help="File with one URL a line, plain or packed; - is standard input; or a URL.", allow_leading_hyphen=True
        ),
    ],
    out: Annotated[Path | None, Parameter(help="File for the usable seeds, in normal form, as given.")] = None,
    fetch: Annotated[
        bool, Parameter(help="Ask for each once, robots.txt obeyed; needs --contact but on this machine.", negative=())
    ] = False,
    no_names: Annotated[bool, Parameter(name="--no-names", help="Ask no name server.", negative=())] = False,
    drop_twins: Annotated[
        bool, Parameter(help="Leave out what differs by www. or the scheme from an earlier seed.", negative=())
    ] = False,
    config: Annotated[Path | None, Parameter(help="Settings file of the crawl (TOML).")] = None,
    profile: Annotated[str | None, Parameter(help="Ready-made settings of the crawl: wire, country or vn.")] = None,
    json: Json = False,
    flags: Any = CheckFlags(),  # noqa: B008  every field is None
) -> int:
    """Say what is known of seeds before a crawl.

    Normal form, duplicates (also by www. and scheme), the rules of the crawl's settings, whether the name exists, and
    whether its address may be visited; with --fetch the status of one request, and where it is redirected to.

    The exit code is 0 if all are usable, 1 if some are not. Duplicates are usable, and written once.

    For example:

        weft seeds check seeds.txt --config country.toml --out usable.txt
    """
    if not seeds:
        raise UsageError("there is no seed at all", todo="give files with one URL a line, or URLs")
    if option := next((seed for seed in seeds if seed.startswith("-") and seed != "-"), None):
        raise UsageError(f"weft seeds check has no option {option}", todo="see weft seeds check --help")
    asking = Asking(**given_of(flags, Asking))
    values = {name: value for name, value in given(flags).items() if name not in Asking.__dataclass_fields__}
    settings = settings_of(Settings(), config, profile, values)
    clock = SystemClock()
    with _telling(clock, quiet=json) as tell:
        report = check_seeds(
            texts_of(seeds), settings, asking, clock, names=not no_names, drop_twins=drop_twins, tell=tell
        )
    if not report.seeds:
        raise UsageError("there is no seed at all", where=", ".join(seeds), todo="give one URL a line")
    if fetch:
        from weft.app import run  # most of weft comes with it

        report = fetch_seeds(report, settings, run)
    if out is not None:
        write_seeds(out, report.usable())
    if json:
        print(msgspec.json.encode({"ok": report.ok, **msgspec.to_builtins(report)}).decode())
    else:
        _print_checked(report, out)
    return 0 if report.ok else 1


def domains(
    listing: Annotated[Path, Parameter(help="File of domain names, one a line or in a column; plain or packed.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="File for the seeds. The same again: the work goes on.")],
    column: Annotated[str, Parameter(help="Column of the names, by its name or number.")] = "",
    json: Json = False,
    flags: Any = DomainFlags(),  # noqa: B008  every field is None
) -> int:
    """Make seeds of a registry's listing of domain names.

    Of each name http://NAME/ and http://www.NAME/, where it has an address; names that are not registered stay out.
    Seeds are sorted by name, label by label from the right. Stopped or killed, it goes on with the same command.

    For example:

        weft seeds from-domains registry.csv.gz --column domain --out seeds.txt --questions-per-second 500
    """
    with _telling(SystemClock(), quiet=json) as tell:

        def progress(done: Done) -> None:
            tell(f"{done.seeds:,} seeds, {done.names_per_second:,.0f} names/s", done.done, done.names)

        made = from_domains(
            listing,
            out,
            column=column,
            making=Making(**given_of(flags, Making)),
            asking=Asking(**given_of(flags, Asking)),
            naming=Naming(**given_of(flags, Naming)),
            identity=Identity(**given_of(flags, Identity)),
            clock=SystemClock(),
            tell=progress,
        )
    if json:
        print(msgspec.json.encode(made).decode())
    else:
        _print_made(made)
    return 0 if made.seeds else 1


def crawl(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    out: Out = None,
    json: Json = False,
    flags: Any = CrawlFlags(),  # noqa: B008  every field is None
) -> int:
    """Make seeds of the sites of an earlier crawl that answered.

    A site counts by its last fetches: one that was not reached any more, or whose home page is gone, is left out. They
    are sorted by name, label by label from the right, or with --order most by their good pages.

    For example:

        weft seeds from-crawl crawls/2025 --least-pages 5 --out seeds.txt
    """
    found = from_crawl(crawl, Choosing(**given_of(flags, Choosing)))
    left = {"with too few good pages": found.few, "gone": found.gone, "without such a status": found.unseen}
    _give(found, [each.url for each in found.seeds], out, json=json)
    _say(f"{len(found.seeds):,} of {found.sites:,} sites ({found.answered:,} answered)", left, json=json)
    return 0 if found.seeds else 1


def cdx(
    files: Annotated[list[Path], Parameter(help="CDX or CDXJ files, plain or packed.", negative=())],
    /,
    *,
    out: Out = None,
    json: Json = False,
    flags: Any = CdxFlags(),  # noqa: B008  every field is None
) -> int:
    """Make seeds of the hosts in an archive's index.

    The home page of every host with enough captures of status 200, under the scheme of the last of them. They are
    sorted by name, label by label from the right, or with --order most by captures.

    For example:

        weft seeds from-cdx 2025-*.cdxj.gz --least-captures 10 --since 2025-06-01 --out seeds.txt
    """
    if not files:
        raise UsageError("there is no index to read", todo="give CDX or CDXJ files")
    found = from_cdx(files, Counting(**given_of(flags, Counting)))
    _give(found, [each.url for each in found.seeds], out, json=json)
    left = {"with too few captures": found.hosts - len(found.seeds)}
    _say(
        f"{len(found.seeds):,} of {found.hosts:,} hosts, by {found.captures:,} of {found.lines:,} lines",
        left,
        json=json,
    )
    _skipped(found.unreadable, found.unreadable_shown)
    return 0 if found.seeds else 1


def report(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    json: Json = False,
    csv: Annotated[bool, Parameter(help="Every seed as CSV, with the names in the first line.", negative=())] = False,
) -> None:
    """Say what became of each seed of a crawl.

    Fetched, with how many good pages of its site; redirected, and where to; failed, refused or waiting, and why. Works
    beside a running crawl, as of its last commit.

    For example:

        weft seeds report crawls/country --csv > seeds.csv
    """
    if json and csv:
        raise UsageError("both --json and --csv are given", todo="choose one of them")
    found = seeds_report(crawl)
    if json:
        print(msgspec.json.encode(found).decode())
    elif csv:
        writer = comma_separated.writer(sys.stdout, lineterminator="\n")
        writer.writerow(Outcome.__struct_fields__)
        writer.writerows(
            ["" if value is None else value for value in msgspec.structs.astuple(each)] for each in found.all
        )
    else:
        _print_outcomes(found)


for _command, _flags in ((check, CheckFlags), (domains, DomainFlags), (crawl, CrawlFlags), (cdx, CdxFlags)):
    _command.__annotations__["flags"] = Annotated[_flags, Parameter(name="*")]


# --- what people see ---


@contextmanager
def _telling(clock: Clock, *, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal, elsewhere a line every few seconds."""
    terminal = Terminal(stderr=True, quiet=quiet)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    began = clock.now()
    said = began
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as progress:
        bar = progress.add_task("", total=None)

        def tell(step: str, done: int, whole: int) -> None:
            nonlocal said
            progress.update(bar, description=step, completed=done, total=whole)
            now = clock.now()
            if not terminal.is_terminal and now - said >= _LINE_EVERY:
                said = now
                left = f", about {span((whole - done) * (now - began) / done)} left" if done else ""
                terminal.print(f"{done:,} of {whole:,}: {step}{left}", soft_wrap=True)

        yield tell


def _terminal() -> Terminal:
    terminal = Terminal(soft_wrap=True)
    terminal.width = max(terminal.width, _WIDTH)
    return terminal


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, overflow="fold")
    return table


def _print_checked(report: Report, out: Path | None) -> None:
    terminal, table = _terminal(), _table("seed", "verdict", "why", "given")
    rows = [each for each in report.all if report.seeds <= _SHOWN or each.verdict == "unusable"]
    for each in rows[:_SHOWN]:
        table.add_row(each.url or each.written, each.reason or each.verdict, _why(each), each.where)
    if rows:
        terminal.print(table)
    if len(rows) > _SHOWN:
        terminal.print(f"and {len(rows) - _SHOWN:,} more; --json lists them")
    counts = ", ".join(f"{many:,} {verdict}" for verdict, many in sorted(report.verdicts.items()))
    terminal.print(f"{report.seeds:,} seeds: {counts}")
    if report.reasons:
        terminal.print("not usable: " + ", ".join(f"{reason} {many:,}" for reason, many in report.reasons.items()))
    if report.twins:
        terminal.print(
            f"{report.twins:,} differ by www. or the scheme from an earlier one: --drop-twins leaves them out"
        )
    if out is not None:
        terminal.print(f"usable ones: {out} ({len(report.usable()):,})")
        if any(each.secret for each in report.all):
            terminal.print("! user names and passwords of seeds are not written there")


def _why(seed: Checked) -> str:
    said = [seed.because]
    if seed.status is not None:
        said.append(f"status {seed.status}")
    if seed.redirect is not None:
        said.append(f"leads to {seed.redirect}")
    if seed.same_as is not None:
        said.append(f"{'given before' if seed.verdict == 'duplicate' else 'like'}: {seed.same_as}")
    return ", ".join(filter(None, said))


def _print_made(made: Made) -> None:
    counts = made.counts
    _say(
        f"{made.seeds:,} seeds of {counts.with_seeds:,} of {made.names:,} names, by {made.questions:,} questions "
        f"in {span(made.seconds)}",
        {
            "not registered": counts.not_registered,
            "without an address": counts.no_address,
            "whose name servers fail": counts.failed,
            "with special addresses": counts.special,
        },
        json=False,
    )
    for suffix in made.wild:
        print(f"weft: any name below .{suffix} has an address: what has the same is left out", file=sys.stderr)
    _skipped(made.unusable, made.unusable_shown)
    print(f"seeds: {made.out}")


def _give(report: Any, urls: list[str], out: Path | None, *, json: bool) -> None:
    """Write seeds, or print them; or the report, which has them."""
    if out is not None:
        write_seeds(out, urls)
    if json:
        print(msgspec.json.encode(report).decode())
    elif out is None:
        for url in urls:
            print(url)


def _say(what: str, left: dict[str, int], *, json: bool) -> None:
    """What came out, beside the seeds."""
    if not json:
        words = ", ".join(f"{many:,} {why}" for why, many in left.items() if many)
        print(f"{what}{f'; left out: {words}' if words else ''}", file=sys.stderr)


def _skipped(many: int, shown: Iterable[str]) -> None:
    lines = list(shown)
    for line in lines:
        print(f"weft: skipped: {line}", file=sys.stderr)
    if many > len(lines):
        print(f"weft: skipped: {many - len(lines):,} more", file=sys.stderr)


def _print_outcomes(found: Seeds) -> None:
    terminal, table = _terminal(), _table("seed", "outcome", "why", "pages")
    rows = [each for each in found.all if found.seeds <= _SHOWN or not _is_good(each)]
    for each in rows[:_SHOWN]:
        table.add_row(each.url, each.outcome, _fate(each), f"{each.pages:,}")
    if rows:
        terminal.print(table)
    if len(rows) > _SHOWN:
        terminal.print(f"and {len(rows) - _SHOWN:,} more; --csv lists them")
    counts = ", ".join(f"{found.outcomes[how]:,} {how}" for how in HOWS if how in found.outcomes)
    terminal.print(f"{found.seeds:,} seeds: {counts or 'none'}; {found.pages:,} good pages came of their sites")
    if found.reasons:
        terminal.print("reasons: " + ", ".join(f"{reason} {many:,}" for reason, many in found.reasons.items()))


def _is_good(seed: Outcome) -> bool:
    return seed.outcome == "fetched" or (seed.outcome == "redirected" and seed.ended == "fetched")


def _fate(seed: Outcome) -> str:
    said = [f"status {seed.status}" if seed.status else "", seed.reason or "", seed.waits]
    if seed.redirect is not None:
        said.insert(1, f"to {seed.redirect} ({seed.ended})")
    if seed.added:
        said.append("added later")
    return ", ".join(filter(None, said))
