"""What a person sees while a crawl runs, and when it has ended. On a terminal a live panel, elsewhere a line every
few seconds.
"""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Self

from rich.live import Live
from rich.table import Table

from weft.app import Summary
from weft.cli.terminal import Terminal
from weft.engine.progress import Statistics
from weft.frontier.shared.contract import BYTE_LIMIT, DONE, PAGE_LIMIT, TIME_LIMIT
from weft.operations.left_out import left_out, stored_again
from weft.store.places import volume_folders
from weft.store.stored import STORED
from weft.units import size, span

_QUERY = "select site, status, count(*) from pages group by all order by 3 desc"  # one to try
_LINE_EVERY = 5.0  # seconds between lines where there is no terminal


class Display:
    """Shows how a crawl goes."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._terminal = Terminal(stderr=True)
        self._quiet = quiet
        self._live: Live | None = None
        self._line_at = 0.0

    def __enter__(self) -> Self:
        if not self._quiet and self._terminal.is_terminal:
            self._live = Live(console=self._terminal, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, line: str) -> None:
        """Show a message, above the panel where there is one; it stays on the screen."""
        if self._live is not None:
            self._live.console.print(line, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def show(self, now: Statistics) -> None:
        """Show the present state."""
        if self._live is not None:
            self._live.update(_panel(now), refresh=True)
        elif not self._quiet and now.counts.seconds >= self._line_at:
            self._line_at = now.counts.seconds + _LINE_EVERY
            print(_line(now), file=sys.stderr, flush=True)


def _line(now: Statistics) -> str:
    counts = now.counts
    return (
        f"{counts.seconds:7.0f} s  {counts.pages} pages  {now.pages_rate:.1f} pages/s  {size(now.bytes_rate)}/s  "
        f"{now.active} sites active, {now.waiting} waiting  {now.pending} pages pending  "
        f"{sum(counts.reasons.values())} errors{'  paused: weft resume' if now.paused else ''}{_in(_outage(now))}"
        f"{_in(_stall(now))}{_in(_left(now))}"
    )


def _in(text: str) -> str:
    return f"  {text}" if text else ""


def _outage(now: Statistics) -> str:
    """That nobody can be reached, and why."""
    return f"nobody can be reached for {span(now.outage_seconds)}: {now.outage}" if now.outage else ""


def _stall(now: Statistics) -> str:
    """That what was fetched cannot be put away, and why."""
    return f"waiting for {span(now.stalled_seconds)}: {now.stalled}" if now.stalled else ""


def _left(now: Statistics) -> str:
    """How long what is known will take, or what holds the crawl up."""
    if not now.pending or now.paused or now.outage or now.stalled:
        return ""
    if now.waiting and not now.ready and now.active < now.waiting:
        return f"politeness is the limit: {now.waiting:,} {'site rests' if now.waiting == 1 else 'sites rest'}"
    return f"about {span(now.pending / now.pages_rate)} for what is known" if now.pages_rate > 0 else ""


def _panel(now: Statistics) -> Table:
    counts = now.counts
    table = Table.grid(padding=(0, 3))
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_column(justify="right", style="bold")
    table.add_column()
    table.add_row(f"{counts.pages:,}", "pages", f"{now.pages_rate:,.1f}", "pages/s")
    table.add_row(size(counts.bytes), "content", f"{size(now.bytes_rate)}", "/s")
    table.add_row(f"{now.active:,}", "sites active", f"{now.waiting:,}", "sites waiting")
    table.add_row(f"{now.pending:,}", "pages pending", f"{now.sites:,}", "sites known")
    worst = sorted(counts.reasons.items(), key=lambda each: -each[1])[:6]
    if worst:
        shown = ", ".join(f"{reason} {count:,}" for reason, count in worst)
        table.add_row(f"{sum(counts.reasons.values()):,}", f"errors: {shown}")
    if now.paused:
        table.add_row("paused", "weft resume lets it go on")
    if outage := _outage(now):
        table.add_row("waiting", outage)
    if stall := _stall(now):
        table.add_row("paused", stall)
    for folder, said in now.out_of_use.items():
        table.add_row("out of use", f"{folder}: {said}")
    if left := _left(now):
        table.add_row("", left)
    table.add_row(f"{counts.seconds:,.0f} s", "Ctrl-C stops; the same command goes on")
    return table


def print_summary(summary: Summary) -> None:
    """Say what came out, where it lies and what to try next."""
    counts = summary.counts
    terminal = Terminal()
    print_line = partial(terminal.print, soft_wrap=True)
    print_line(f"\n{_ending(summary)}", style="bold")
    print_line(
        f"  {_count(counts.pages, 'page')} ({counts.good:,} good, {_count(counts.redirects, 'redirect')}, "
        f"{_count(counts.duplicates, 'duplicate')}) of {_count(summary.sites, 'site')}, {size(counts.bytes)}, "
        f"in {counts.seconds:,.1f} s: {summary.pages_per_second:,.1f} pages/s"
    )
    for title, table in (("failed", summary.reasons), ("refused by a rule", summary.refused)):
        if table:
            print_line(f"  {title}: " + ", ".join(f"{name} {count:,}" for name, count in table.items()))
    for line in left_out(
        {"fetched": counts.parts, "failed": counts.parts_failed, "duplicates": counts.parts_duplicates},
        {"pages": counts.truncated, "requisites": counts.parts_truncated, "robots": counts.robots_truncated},
        counts.unwanted,
        summary.max_bytes_page,
    ):
        print_line(f"  {line}")
    for line in stored_again(counts.copies, counts.unremembered):
        print_line(f"  {line}")
    for seed, reason in list(summary.seeds_refused.items())[:10]:
        print_line(f"  seed refused: {seed}: {reason}")
    if summary.pending:
        print_line(f"  {_count(summary.pending, 'page')} pending: {_to_go_on(summary)}")
    for line in _troubles(summary):
        print_line(f"  {line}")
    out = str(summary.out)
    where = [f"{folder}/*.warc.gz" for folder in volume_folders(summary.out) if any(folder.glob("*.warc.gz"))]
    print_line(f"\n  pages as WARC   {'   '.join(where) or f'{out}/volumes/*.warc.gz'}")
    if summary.stored or summary.unstored:
        print_line(f"                  {_count(summary.stored, 'volume')} in the store ({out}/{STORED} says where)")
    if summary.unstored:
        print_line(
            f"                  {_count(summary.unstored, 'volume')} could not be uploaded: the same command does it "
            "when the store is back"
        )
    print_line(f"  columns         {out}/pages/*.parquet   links/   urls/")
    print_line(f"  one line each   {out}/log/crawl.log")
    weft = _own_name()
    print_line("\n  try next")
    print_line(f"    {weft} log {out} --failed")
    print_line(f"    {weft} explain {out} URL      why it was crawled, or was not")
    print_line(f"    {weft} show {out} URL         a page out of the archive")
    print_line(f'    {weft} query {out} "{_QUERY}"')


def _own_name() -> str:
    """What to type to run weft here."""
    if shutil.which("weft") is not None:
        return "weft"
    beside = Path(sys.executable).parent / "weft"
    return os.path.relpath(beside) if beside.is_relative_to(Path.cwd()) else str(beside)


def _count(number: int, what: str) -> str:
    """A number of things.

    >>> _count(1, "page"), _count(2000, "site")
    ('1 page', '2,000 sites')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


# By which option a limit is raised.
_LIMITS = {PAGE_LIMIT: "--max-pages", TIME_LIMIT: "--max-time", BYTE_LIMIT: "--max-bytes"}


def _ending(summary: Summary) -> str:
    if summary.why == DONE:
        if summary.failed:
            return "The crawl is complete, and not one page could be had."
        return "The crawl is complete." if summary.fetched else "Nothing was left to do: the crawl was complete before."
    if summary.why in _LIMITS:
        return f"Stopped at the {summary.why} of the whole crawl ({_LIMITS[summary.why]})."
    return "Stopped."


def _to_go_on(summary: Summary) -> str:
    if summary.why in _LIMITS:
        return f"raise {_LIMITS[summary.why]}, or leave it out, to go on"
    return "run the same command again to go on"


def _troubles(summary: Summary) -> list[str]:
    """What went wrong inside, and where to read of it."""
    counts, log = summary.counts, summary.out / "log"
    lines = []
    if counts.outages:
        lines.append(
            f"nobody could be reached {_count(counts.outages, 'time')}, for {span(counts.outage_seconds)} in all: "
            f"see {log}/messages.log"
        )
    if counts.stalls:
        lines.append(
            f"the crawl waited {_count(counts.stalls, 'time')} for a disk or for its store, for "
            f"{span(counts.stalled_seconds)} in all: see {log}/messages.log"
        )
    lines += [f"a directory for volumes is out of use: {each}: {said}" for each, said in summary.out_of_use.items()]
    lines += [f"worker {each} was left out: {why}" for each, why in summary.left_out.items()]
    if summary.restarted:
        lines.append(f"workers were started again {_count(summary.restarted, 'time')}: see {log}/messages.log")
        last = summary.restarts[-1]
        lines.append(f"  the last: worker {last.worker}, by {last.how}{f': {last.cause}' if last.cause else ''}")
    if counts.application_faults:
        lines.append(f"the application failed {_count(counts.application_faults, 'time')}: see {log}/faults.log")
    if counts.faults:
        lines.append(f"weft itself failed {_count(counts.faults, 'time')}: see {log}/faults.log and report it")
    return lines
