"""The page of a report. In: its numbers. Out: one page of HTML that needs no other file.

Every figure says in one sentence what it means. Where something is not known the page says so, and why. Without
matplotlib there are the tables alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from weft.printing import plots
from weft.printing.charts import Areas
from weft.printing.page import Column, Page
from weft.report.numbers import MOST, WASTED, WORTHS

_Numbers = Mapping[str, Any]

_WORTH_NAMES = {
    "page": "pages with a content of their own",
    "part": "parts of pages",
    "redirect": "redirects",
    "robots": "robots.txt files",
    "duplicate": "contents that were stored before",
    "failed": "failures, and tries that were repeated",
    "dropped": "contents that were not kept",
}
_BARS = 15  # of a chart


def made_page(found: _Numbers) -> Page:
    """The page that shows these numbers."""
    totals = found["totals"]
    lead = (
        f"{totals['pages']:,} pages of {found['sites']['count']:,} sites, {_bytes(totals['bytes'])}, "
        f"{_when(found['began'])} to {_when(found['ended'])}."
    )
    page = Page(f"Crawl {found['crawl']}", lead)
    page.warnings(_warnings(found))
    for section in (_overview, _speed, _bandwidth, _sites, _properties, _links, _copies, _limits, _robots, _texts):
        section(page, found)
    page.section("How this was made")
    page.paragraph(
        f"By weft {found['version']} from the columns of the crawl, as far as they were committed; `weft report "
        "--json` gives the same numbers to programs."
    )
    return page


def _warnings(found: _Numbers) -> list[str]:
    said = [f"Not known: {why}." for why in found["unknown"].values()]
    if found["running"]:
        said.insert(0, "The crawl is running: these are its numbers so far.")
    if not found["fetches"]:
        said.insert(0, "Nothing was fetched yet.")
    if not plots.available():
        said.append("There are no figures, since matplotlib is not installed: pip install 'weft[plots]'.")
    return said


def _draw(page: Page, svg: Callable[[], str], caption: str, alternative: str) -> None:
    """A figure, where figures can be drawn."""
    if plots.available():
        page.figure(svg(), caption=caption, alternative=alternative)


# Sections.


def _overview(page: Page, found: _Numbers) -> None:
    totals = found["totals"]
    page.section("Overview")
    page.values(
        {
            "pages": f"{totals['pages']:,}, of which {totals['good']:,} came with a content",
            "parts of pages": f"{totals['parts']:,}",
            "sites": f"{totals['sites']:,}",
            "URLs known": f"{totals['urls']:,}",
            "links": f"{totals['links']:,}",
            "fetches": f"{found['fetches']:,}, robots.txt files and repeated tries included",
            "content": _bytes(totals["bytes"]),
            "time": _seconds(found["seconds"]),
        },
        heads=("what", "how many"),
    )


def _speed(page: Page, found: _Numbers) -> None:
    page.section("Speed")
    time = found["time"]
    if time is None:
        page.paragraph("Not known: too little was fetched to tell.")
        return
    unit, length = _unit(found["seconds"])
    middle = [(place + 0.5) * time["interval"] / length for place in range(len(time["pages_rate"]))]
    mean = found["totals"]["pages"] / found["seconds"] if found["seconds"] else 0.0
    _draw(
        page,
        lambda: plots.lines(
            [
                plots.Series("pages", middle, time["pages_rate"]),
                plots.Series("all fetches", middle, time["fetches_rate"]),
            ],
            plots.Frame("Pages fetched a second", f"{unit} from the start", "a second", height=3.4),
        ),
        "Speed over time: pages, and all fetches, that were finished in a second, means of "
        f"{_seconds(time['interval'])}.",
        f"Line chart. {mean:,.1f} pages a second in the mean.",
    )
    page.paragraph(f"In the mean {mean:,.1f} pages and {_bytes(time['mean_rate'])} a second.")
    _draw(
        page,
        lambda: plots.lines(
            [plots.Series("downloads", middle, time["downloads_under_way"])],
            plots.Frame("Downloads at a time", f"{unit} from the start", "downloads", height=3.0),
        ),
        "Downloads under way: where the line falls, no site could be visited, or nothing was left (P0, figure 2).",
        f"Line chart; at most {max(time['downloads_under_way']):,.1f}.",
    )


def _bandwidth(page: Page, found: _Numbers) -> None:
    page.section("Bandwidth used and wasted")
    time, totals = found["time"], found["totals"]
    rows = [
        [
            _WORTH_NAMES[name],
            f"{totals['fetches_by_worth'][name]:,}",
            _bytes(totals["bytes_by_worth"][name]),
            _share(totals["bytes_by_worth"][name], totals["bytes"]),
            "wasted" if name in WASTED else "",
        ]
        for name in WORTHS
    ]
    page.table(
        [
            Column("what came"),
            Column("fetches", number=True),
            Column("bytes", number=True),
            Column("share", number=True),
            Column(""),
        ],
        rows,
        "What the bandwidth was used for. Bytes are those of contents, as they came.",
    )
    if time is None:
        page.paragraph("Bandwidth over time is not known: too little was fetched to tell.")
        return
    unit, length = _unit(found["seconds"])
    scale, name = _scale(time["peak_rate"])
    middle = [(place + 0.5) * time["interval"] / length for place in range(len(time["pages_rate"]))]
    peak = time["peak_rate"]
    moved = zip(time["useful_rate"], time["overhead_rate"], time["wasted_rate"], strict=True)
    layers = {
        "used": time["useful_rate"],
        "robots.txt, redirects": time["overhead_rate"],
        "wasted": time["wasted_rate"],
        "idle": [max(0.0, peak - sum(each)) for each in moved],
    }
    series = [plots.Series(label, middle, [each / scale for each in rates]) for label, rates in layers.items()]
    frame = plots.Frame("Bandwidth, by what it was good for", f"{unit} from the start", f"{name} a second", height=3.6)
    _draw(
        page,
        lambda: plots.svg(Areas(series, frame)),
        "Bandwidth used and wasted over time: wasted are failures, contents stored before, and those not kept; hatched "
        "is what lay idle beside the best moment of the crawl (P0, figure 2).",
        f"Area chart. {_percent(time['wasted_share'])} of all bytes were wasted.",
    )
    page.paragraph(
        f"{_percent(time['wasted_share'])} of the bytes were wasted, {_percent(time['overhead_share'])} went into "
        f"robots.txt files and redirects. Measured by its own best moment ({_bytes(time['peak_rate'])} a second) the "
        f"connection lay idle for {_percent(time['idle_share'])}: that is the hatched part of figure 2 of P0, since "
        "what the connection could have carried is not known."
    )


def _sites(page: Page, found: _Numbers) -> None:
    page.section("Sites by size")
    sites = found["sites"]
    if not sites["count"]:
        page.paragraph("No site has a page yet.")
        return
    page.paragraph(
        f"{sites['count']:,} sites have {sites['mean']:,.1f} pages in the mean, {sites['median']:,.0f} in the median; "
        f"the largest tenth has {_percent(sites['in_largest_tenth'])} of all pages."
    )
    ranks, sizes = zip(*sites["by_rank"], strict=True)
    _draw(
        page,
        lambda: plots.scatter(
            [plots.Series("sites", ranks, sizes)],
            plots.Frame("Few sites have most pages", "rank of the site", "pages", x_log=True, y_log=True, height=3.6),
        ),
        "Sites by size: the pages of each site, the largest first, both axes logarithmic (P0, figure 3).",
        f"Scatter plot. The largest site has {sizes[0]:,.0f} pages.",
    )
    columns = [Column("site"), *(Column(name, number=True) for name in _SITE_COLUMNS.values())]
    rows = [[each["site"], *(_cell(name, each[name]) for name in _SITE_COLUMNS)] for each in sites["largest"]]
    page.table(columns, rows, f"The {len(rows)} largest sites")


_SITE_COLUMNS = {
    "pages": "pages",
    "good": "with a content of their own",
    "duplicates": "duplicates",
    "failed": "failed",
    "bytes": "bytes",
    "depth": "depth",
}


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    return _bytes(value) if name == "bytes" else f"{value:,}"


def _properties(page: Page, found: _Numbers) -> None:
    page.section("Pages")
    _depths(page, found["depth"])
    _counted(page, "Media types", found["type"], "pages that came, by media type", "Type: what the contents are.")
    _counted(
        page,
        "Status",
        found["status"],
        "pages, by the status of their answer",
        "Status: how servers answered; none: not.",
    )
    _counted(
        page,
        "Failures",
        found["reason"],
        "pages and parts that failed, by reason",
        "Reason: why a page or a part failed; the reference of reasons says what they mean.",
    )
    language = found["language"]
    how = f"found by the stage ({language['detected']})" if language["detected"] else "as pages declare it"
    _counted(
        page,
        "Languages",
        language["counts"],
        f"pages that came, by language, {how}",
        f"Language: {how}; none: it is not said.",
    )
    _spread(page, "Size", found["size"], "bytes of a page's content, as it came", _bytes)
    _spread(page, "Latency", found["latency"], "seconds from the request to the last byte", _seconds)


def _depths(page: Page, depths: Sequence[_Numbers]) -> None:
    if not depths:
        return
    page.heading("Depth")
    named = [each for each in depths if each["depth"] is not None]
    _draw(
        page,
        lambda: plots.lines(
            [
                plots.Series("pages", [each["depth"] for each in named], [each["pages"] for each in named]),
                plots.Series("that came", [each["depth"] for each in named], [each["good"] for each in named]),
            ],
            plots.Frame("Pages by their distance from the seeds", "links away from a seed", "pages", height=3.2),
        ),
        "Depth: how many links away from a seed pages are.",
        "Line chart: " + ", ".join(f"{each['pages']} at depth {each['depth']}" for each in named[:8]) + ".",
    )
    page.table(
        [Column(name, number=True) for name in ("depth", "pages", "that came", "bytes")],
        [
            [
                "-" if each["depth"] is None else str(each["depth"]),
                f"{each['pages']:,}",
                f"{each['good']:,}",
                _bytes(each["bytes"]),
            ]
            for each in depths[: 2 * MOST]
        ],
    )


def _counted(page: Page, title: str, counts: Sequence[_Numbers], what: str, caption: str) -> None:
    """Counts as a chart, and as a table."""
    page.heading(title)
    if not counts:
        page.paragraph(f"There are no {what}.")
        return
    total = sum(each["pages"] for each in counts)
    shown = [*counts[:_BARS]]
    names = ["none" if each["value"] is None else str(each["value"]) for each in shown]
    _draw(
        page,
        lambda: plots.bars(
            names,
            [plots.Bars("pages", [each["pages"] for each in shown])],
            plots.Frame(f"{title} of pages", "pages", "", height=1.3 + 0.28 * len(shown)),
        ),
        caption,
        "Bar chart: " + ", ".join(f"{name} {each['pages']:,}" for name, each in zip(names, shown, strict=True)) + ".",
    )
    rows = [
        [
            str("none" if each["value"] is None else each["value"]),
            f"{each['pages']:,}",
            _share(each["pages"], total),
            _bytes(each["bytes"]),
            f"{each['sites']:,}",
        ]
        for each in counts[: 2 * MOST]
    ]
    heads = [Column(title.lower()), *(Column(name, number=True) for name in ("pages", "share", "bytes", "sites"))]
    more = f"; {len(counts) - 2 * MOST:,} more are in the JSON" if len(counts) > 2 * MOST else ""
    page.table(heads, rows, f"{what.capitalize()}{more}")


def _spread(page: Page, title: str, spread: _Numbers | None, what: str, shown: Callable[[float], str]) -> None:
    page.heading(title)
    if spread is None:
        page.paragraph("Not known: no page came.")
        return
    bins = spread["bins"]
    _draw(
        page,
        lambda: plots.bars(
            [f"{shown(each['from'])} …" for each in bins],
            [plots.Bars("pages", [each["count"] for each in bins])],
            plots.Frame(f"{title} of pages", "pages", "", height=1.3 + 0.28 * len(bins)),
        ),
        f"{title}: {what}, from each power of two to the next.",
        f"Bar chart; the median is {shown(spread['quantiles']['50%'])}.",
    )
    quantiles = {f"{share} have at most": shown(value) for share, value in spread["quantiles"].items()}
    page.values(
        {"mean": shown(spread["mean"]), "least": shown(spread["least"]), **quantiles, "most": shown(spread["most"])},
        heads=("of pages", what),
    )


def _links(page: Page, found: _Numbers) -> None:
    page.section("Links and PageRank")
    graph = found["graph"]
    if graph is None:
        page.paragraph(f"Not known: {found['unknown'].get('graph', 'there is no graph')}.")
        return
    page.paragraph(
        f"Between the {graph['pages']:,} pages that came and can be reached from a seed there are {graph['links']:,} "
        f"links: {graph['out_degree']['mean']:,.1f} a page in the mean, {graph['in_degree']['most']:,} to one page at "
        f"most; {graph['out_degree']['none']:,} pages lead nowhere."
    )
    series = [
        plots.Series(label, [max(degree, 0.5) for degree, _ in counts], [count for _, count in counts])
        for label, counts in (
            ("links on it", graph["out_degree"]["counts"]),
            ("links to it", graph["in_degree"]["counts"]),
        )
    ]
    _draw(
        page,
        lambda: plots.scatter(
            series,
            plots.Frame("Few pages have many links", "links", "pages with so many", x_log=True, y_log=True, height=3.8),
        ),
        "Degrees: how many pages have so many links on them, and to them; none stands at one half.",
        f"Scatter plot; the largest numbers are {graph['out_degree']['most']:,} and {graph['in_degree']['most']:,}.",
    )
    ranked = graph["pagerank"]
    ranks, scores = zip(*ranked["by_rank"], strict=True)
    _draw(
        page,
        lambda: plots.scatter(
            [plots.Series("pages", ranks, scores)],
            plots.Frame(
                "PageRank, the highest first", "rank of the page", "PageRank", x_log=True, y_log=True, height=3.6
            ),
        ),
        "PageRank: the chance that somebody who follows links at random is on a page, the likeliest first.",
        f"Scatter plot. The first hundredth of the pages has {_percent(ranked['in_first_hundredth'])} of it.",
    )
    page.paragraph(
        f"The first hundredth of the pages has {_percent(ranked['in_first_hundredth'])} of all PageRank, the first "
        f"tenth {_percent(ranked['in_first_tenth'])}."
    )
    score = Column("PageRank", number=True)
    page.table(
        [Column("page"), score],
        [[each["url"], f"{each['score']:.3g}"] for each in ranked["highest"]],
        "Pages with the highest PageRank",
    )
    page.table(
        [Column("site"), Column("pages", number=True), score],
        [[each["site"], f"{each['pages']:,}", f"{each['score']:.3g}"] for each in ranked["sites"]],
        "Sites with the highest PageRank, all their pages together",
    )


def _copies(page: Page, found: _Numbers) -> None:
    page.section("Duplicates and downloads")
    copies = found["duplicates"]
    page.values(
        {
            "duplicates": f"{copies['duplicates']:,} of {copies['pages']:,} pages that came "
            f"({_percent(copies['share'])}); VN had 7 % (P3, table 9)",
            "their bytes": f"{_bytes(copies['bytes_of_duplicates'])} ({_percent(copies['share_of_bytes'])})",
            "downloads per URL": f"{_ratio(copies['downloads_per_url'])}: {copies['urls_downloaded']:,} of the "
            f"{copies['urls_visited']:,} URLs that were visited led to a content",
            "tries per URL": _ratio(copies["tries_per_url"]),
        },
        heads=("what", "how many"),
    )
    alike = copies["contents_by_urls"]
    if len(alike) > 1:
        _draw(
            page,
            lambda: plots.scatter(
                [plots.Series("contents", [each["urls"] for each in alike], [each["contents"] for each in alike])],
                plots.Frame(
                    "How often the same content was found", "URLs", "contents", x_log=True, y_log=True, height=3.2
                ),
            ),
            "Duplicates: how many contents were found under so many URLs.",
            f"Scatter plot; one content has {alike[-1]['urls']:,} URLs.",
        )


def _limits(page: Page, found: _Numbers) -> None:
    page.section("Thresholds and refusals")
    rows = [
        [
            each["threshold"],
            _plain(each["limit"]),
            _plain(each["sites"]),
            _percent(each["sites_share"]),
            _plain(each["urls"]),
            _percent(each["urls_share"]),
            _plain(each["refusals"]),
        ]
        for each in found["thresholds"]
    ]
    numbers = ("limit", "sites", "% of sites", "URLs", "% of URLs", "refusals")
    page.table(
        [Column("threshold"), *(Column(name, number=True) for name in numbers)],
        rows,
        "Which limit stopped how many sites and URLs, as in table 7 of P3. A site counts that has as many as the "
        "limit, or is as deep; refusals are links that were not followed for it; a dash: that is not counted, or there "
        "is no limit. The limit of duplicates is VN's.",
    )
    if found["stopped"]:
        page.table(
            [Column("site"), Column("reason")],
            [[name, reason] for name, reason in sorted(found["stopped"].items())],
            "Sites and domains that are followed no further, and keep what they have; at most a thousand a worker",
        )
    if found["refused"]:
        page.table(
            [Column("rule"), Column("refusals", number=True), Column("meaning")],
            [[each["reason"], f"{each['count']:,}", each["meaning"]] for each in found["refused"]],
            "What rules refused, by reason",
        )
    elif found["refused"] is None:
        page.paragraph(f"Not known: {found['unknown']['refused']}.")


def _robots(page: Page, found: _Numbers) -> None:
    page.section("Robots")
    robots = found["robots"]
    refused = {each["reason"]: each["count"] for each in found["refused"] or ()}
    page.values(
        {
            "sites with a robots.txt": f"{robots['sites']['had']:,}",
            "sites without": f"{robots['sites']['none']:,}",
            "sites whose robots.txt could not be had": f"{robots['sites']['failed']:,}",
            "fetches of robots.txt": f"{robots['fetches']:,}, {_bytes(robots['bytes'])}",
            "links refused by it": "not known" if found["refused"] is None else f"{refused.get('robots', 0):,}",
            "pages that ask not to be indexed": f"{robots['pages']['noindex']:,}",
            "pages that ask not to be followed": f"{robots['pages']['nofollow']:,}",
            "pages that ask not to be archived": f"{robots['pages']['noarchive']:,}",
        },
        heads=("what", "how many"),
    )


def _texts(page: Page, found: _Numbers) -> None:
    page.section("Texts")
    texts = found["texts"]
    if texts is None:
        page.paragraph(f"Not known: {found['unknown']['texts']}.")
        return
    rows = [
        [
            each["type"] or "none",
            f"{each['contents']:,}",
            f"{each['texts']:,}",
            _share(each["texts"], each["contents"]),
            ", ".join(f"{reason} {count:,}" for reason, count in sorted(each["reasons"].items())),
        ]
        for each in texts
    ]
    heads = [Column("type"), *(Column(name, number=True) for name in ("contents", "texts", "share"))]
    page.table([*heads, Column("why not")], rows, "Of how many contents there is a text, by media type (P3, table 6)")


# As people read it.


def _plain(value: Any) -> str:
    return "-" if value is None else f"{value:,.0f}" if isinstance(value, float) else f"{value:,}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _share(part: float, whole: float) -> str:
    return _percent(part / whole if whole else None)


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _bytes(amount: float) -> str:
    """A size as it is written.

    >>> _bytes(512), _bytes(1_500_000)
    ('512 bytes', '1.5 MB')
    """
    scale, name = _scale(amount)
    return f"{amount:,.0f} bytes" if scale == 1 else f"{amount / scale:,.1f} {name}"


def _scale(amount: float) -> tuple[float, str]:
    scales = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    return next((each for each in scales if amount >= each[0]), (1.0, "bytes"))


def _seconds(value: float) -> str:
    """A time as it is written.

    >>> _seconds(0.0021), _seconds(0.24), _seconds(90), _seconds(7300)
    ('2.1 ms', '240 ms', '90.0 s', '2.0 h')
    """
    if value < 1:
        return f"{1000 * value:,.{0 if value >= 0.01 else 1}f} ms"
    unit, length = _unit(value)
    return f"{value / length:,.1f} {unit[0] if unit != 'minutes' else 'min'}"


def _unit(seconds: float) -> tuple[str, float]:
    """The unit in which a time is best read."""
    units = (("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0))
    return next((each for each in units if seconds >= 2 * each[1]), ("seconds", 1.0))


def _when(moment: float | None) -> str:
    return "-" if moment is None else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
