"""The page of a judgement. In: its numbers. Out: one page of HTML, crawlers side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weft.printing import plots
from weft.printing.page import Cell, Column, Page

_Numbers = Mapping[str, Any]
_Row = tuple[str, Callable[[_Numbers], str | Cell]]

_CLASSES = {
    "new": "pages with a content of their own",
    "duplicate": "contents that were fetched from another address",
    "again": "addresses once more that had been answered for good",
    "hazard": "hazards",
    "failed": "failures: missing pages, errors, no answer",
    "forbidden": "what robots.txt forbids",
    "robots": "robots.txt",
    "other": "the rest: redirects, sitemaps, parts of pages",
}


def made_page(found: _Numbers) -> Page:
    """The page that shows these numbers."""
    web = found["web"]
    called = f"the standard web {web['name']}" if web["name"] else f"a web (seed {web['seed']})"
    lead = (
        f"On {called}: {web['sites']:,} sites, of which {web['hazards']:,} play a hazard, and {web['pages']:,} pages, "
        f"of which {web['could']:,} can be had by who obeys robots.txt and follows links, all by the servers' word."
    )
    if found["first"] is not None:
        lead += f" Each crawler is judged by its first {found['first']:,} requests."
    page = Page(f"Crawlers judged: {', '.join(found['crawlers'])}", lead)
    page.warnings(_warnings(found))
    for section in (_overview, _classes, _hazards, _manners, _robots, _order):
        section(page, found)
    page.section("How this was made")
    page.paragraph(
        f"By weft {found['version']} from the servers' logs; the web has the digest {web['digest']}. `weft testbed "
        "judge --json` gives the same numbers to programs, and docs/testbed.md says what each means and what "
        "cannot be seen from the servers' side."
    )
    return page


def _warnings(found: _Numbers) -> list[str]:
    said = [
        f"The last line of the log of {name} is not whole, and was left out: the server runs, or the file was cut."
        for name, each in found["crawlers"].items()
        if each["cut"]
    ]
    if not plots.available():
        said.append("There are no figures, since matplotlib is not installed: pip install 'weft[plots]'.")
    return said


def _side_by_side(page: Page, found: _Numbers, rows: Sequence[_Row], caption: str) -> None:
    """A row for each question, and a column for each crawler."""
    crawlers = found["crawlers"]
    columns = [Column(""), *(Column(name, number=True) for name in crawlers)]
    page.table(columns, [[title, *map(ask, crawlers.values())] for title, ask in rows], caption)


def _of(show: Callable[[Any], str | Cell], *keys: str | int) -> Callable[[_Numbers], str | Cell]:
    """Shows one of a crawler's numbers, by where it stands."""

    def ask(crawler: _Numbers) -> str | Cell:
        value: Any = crawler
        for key in keys:
            value = value[key]
        return show(value)

    return ask


def _bad(count: int) -> str | Cell:
    """A number that should be 0."""
    return Cell(f"{count:,}", tone="bad" if count else "good")


# Sections


def _overview(page: Page, found: _Numbers) -> None:
    page.section("Overview")
    rows: list[_Row] = [
        ("good pages", lambda c: f"{c['worth']['good']:,}"),
        ("of those that could be had", lambda c: share(c["worth"]["good"], c["worth"]["could"])),
        ("requests", lambda c: f"{c['requests']:,}"),
        ("requests for a good page", lambda c: _ratio(c["requests"], c["worth"]["good"])),
        ("bytes", lambda c: size(c["bytes"])),
        ("seconds", lambda c: f"{c['seconds']:,.1f}"),
        ("requests a second", lambda c: "-" if c["requests_a_second"] is None else f"{c['requests_a_second']:,.1f}"),
        ("repeated requests, tries after a failure included", lambda c: f"{c['worth']['repeated']:,}"),
        ("contents fetched twice, of all", lambda c: share(c["worth"]["copies"], c["worth"]["fetched"])),
        ("PageRank gathered", lambda c: f"{c['order']['gathered']:.1%}"),
    ]
    _side_by_side(page, found, rows, "What each crawler came to.")


def _classes(page: Page, found: _Numbers) -> None:
    page.section("What the requests were for")
    rows = [(title, _of(_cost, "worth", "classes", name)) for name, title in _CLASSES.items()]
    _side_by_side(
        page, found, rows, "Requests, bytes, and seconds in which servers were busy; each request is in one row."
    )


def _hazards(page: Page, found: _Numbers) -> None:
    if not found["web"]["hazards"]:
        return
    page.section("What hazards cost")
    names = next(iter(found["crawlers"].values()))["worth"]["hazards"]
    rows = [(name, _of(_cost, "worth", "hazards", name)) for name in names]
    _side_by_side(page, found, rows, "Requests for pages of the hazard, bytes, and seconds in which servers were busy.")
    rows = [(name, _of(_kept, "worth", "hazards", name)) for name in names]
    _side_by_side(page, found, rows, "Good pages that were had on the sites that play it, of those that could be.")


def _manners(page: Page, found: _Numbers) -> None:
    page.section("Politeness")
    asked: list[_Row] = [
        ("how many were asked", lambda g: f"{g['groups']:,}"),
        ("most connections at once", lambda g: f"{g['most_connections']:,}"),
        ("… where", lambda g: str(g["worst"])),
        ("with more than one at once", lambda g: share(g["with_several"], g["groups"])),
        ("most requests at once", lambda g: f"{g['most_requests']:,}"),
        ("most requests within a second", lambda g: f"{g['most_in_a_second']:,}"),
        ("gap between requests: least, median", lambda g: _gap(g["gap_between_requests"])),
        ("gap between connections: least, median", lambda g: _gap(g["gap_between_connections"])),
    ]
    for kind in ("site", "domain", "address"):
        rows = [(title, _of(ask, "manners", kind)) for title, ask in asked]
        _side_by_side(page, found, rows, f"By {kind}.")


def _robots(page: Page, found: _Numbers) -> None:
    page.section("robots.txt and Retry-After")
    rows: list[_Row] = [
        ("sites whose pages were asked for", lambda c: f"{c['robots']['sites']:,}"),
        ("… robots.txt was read first", lambda c: f"{c['robots']['asked_first']:,}"),
        ("… read later", lambda c: _bad(c["robots"]["asked_late"])),
        ("… never read", lambda c: _bad(c["robots"]["never_asked"])),
        ("requests for what it forbids", lambda c: _bad(c["robots"]["forbidden"])),
        ("requests to sites whose robots.txt fails with 503", lambda c: _bad(c["robots"]["unavailable"])),
        ("requests sooner than its crawl-delay", lambda c: _bad(c["robots"]["too_soon"])),
        ("… of requests that had to wait", lambda c: f"{c['robots']['delays']:,}"),
        ("requests before Retry-After was over", lambda c: _bad(c["robots"]["retries_too_soon"])),
        ("most requests for one robots.txt", lambda c: f"{c['robots']['most_requests']:,}"),
        ("oldest robots.txt that was gone by", lambda c: f"{c['robots']['oldest_s']:,.0f} s"),
    ]
    _side_by_side(page, found, rows, "What sites ask of crawlers.")


def _order(page: Page, found: _Numbers) -> None:
    page.section("Order")
    page.paragraph(
        "PageRank is that of the whole web, as a share of what could be had. An average is the mean of what was "
        "gathered with the first 1, 2, … good pages; breadth-first and the best order are held against it at the same "
        "number of them."
    )
    rows: list[_Row] = [
        ("good pages", lambda c: f"{c['order']['pages']:,}"),
        ("average", lambda c: _average(c["order"]["average"])),
        ("… breadth-first", lambda c: _average(c["order"]["average_breadth_first"])),
        ("… the best there is", lambda c: _average(c["order"]["average_best"])),
    ]
    for place, moment in enumerate(next(iter(found["crawlers"].values()))["order"]["at"]):
        held = f"breadth-first {moment['breadth_first']:.3f}, best {moment['best']:.3f}"
        title = f"PageRank with {moment['share']:.0%} of the pages ({held})"
        rows.append((title, _of(_average, "order", "at", place, "gathered")))
    _side_by_side(page, found, rows, "PageRank gathered; a dash where a crawler did not come so far.")
    if not plots.available():
        return
    references = [("breadth-first", found["references"]["breadth_first"]), ("best", found["references"]["best"])]
    _curve(page, found, "by_pages", "good pages", references)
    _curve(page, found, "by_requests", "requests, whatever they were for", [])
    _curve(page, found, "by_seconds", "seconds from the first request", [])


def _curve(page: Page, found: _Numbers, which: str, x: str, held: list[tuple[str, list[tuple[float, float]]]]) -> None:
    """PageRank gathered against something."""
    series = [
        plots.Series(name, *_axes(each["order"][which]))
        for name, each in found["crawlers"].items()
        if each["order"][which]
    ]
    series += [plots.Series(name, *_axes(points), reference=True) for name, points in held]
    if series:
        page.figure(
            plots.lines(series, plots.Frame(f"PageRank gathered by {x}", x, "share", y_range=(0.0, 1.02), height=3.8)),
            caption=f"PageRank gathered by {x}.",
            alternative=f"Line chart: {', '.join(each.label for each in series)}.",
        )


def _axes(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [0.0, *(x for x, _ in points)], [0.0, *(y for _, y in points)]


# Cells


def share(part: int, whole: int) -> str:
    """A part of a whole.

    >>> share(1, 8), share(0, 0)
    ('12.5 %', '-')
    """
    return f"{100 * part / whole:.1f} %" if whole else "-"


def size(count: float) -> str:
    """Bytes, for people.

    >>> size(950), size(12_000), size(3_400_000)
    ('950 B', '12 kB', '3.4 MB')
    """
    if count < 1_000:
        return f"{count:.0f} B"
    return f"{count / 1e3:,.0f} kB" if count < 1e6 else f"{count / 1e6:,.1f} MB"


def cost_text(cost: _Numbers) -> str:
    """Requests, bytes, and seconds where they are half a second or more.

    >>> cost_text({"requests": 3, "bytes": 2_000, "seconds": 0.1}), cost_text({"requests": 0, "bytes": 0, "seconds": 0})
    ('3, 2 kB', '0')
    """
    if not cost["requests"]:
        return "0"
    seconds = f", {cost['seconds']:,.1f} s" if cost["seconds"] >= 0.5 else ""
    return f"{cost['requests']:,}, {size(cost['bytes'])}{seconds}"


def _cost(cost: _Numbers) -> str | Cell:
    return cost_text(cost) if cost["requests"] else Cell("0", tone="faint")


def _kept(row: _Numbers) -> str | Cell:
    return Cell(f"{row['good']:,} of {row['could']:,}", tone="good" if row["good"] == row["could"] else "")


def _gap(gap: _Numbers | None) -> str:
    return "-" if gap is None else f"{gap['least']:.3f} s, {gap['median']:.3f} s"


def _average(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"
