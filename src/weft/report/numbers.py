"""The numbers of a report. In: a crawl's directory, also while the crawl runs. Out: a dictionary that is JSON.

The columns are read once, those that are needed, into a table of DuckDB, which goes to temporary files where it does
not fit into memory. PageRank and degrees are of the graph that `weft graph build` makes, which must fit.

What is not known is `None`, and `unknown` says why. Shares are between 0 and 1, times in seconds, sizes in bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from weft.config import SECTIONS, Settings
from weft.errors import WeftError
from weft.manage import is_running, managing
from weft.model import ASIDE, FIRST_REQUISITE, Kind, Reason
from weft.reading import Crawl, Written
from weft.version import __version__

if TYPE_CHECKING:
    import duckdb

KIND = "weft report"
INTERVALS = 100  # of time
MOST = 20  # lines of a table
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_PLOTTED = 300  # points of a curve
_PARTS = ", ".join(f"'{kind.name.lower()}'" for kind in Kind if kind >= FIRST_REQUISITE)
_ASIDE = ", ".join(f"'{word}'" for word in ASIDE)
_PAPER_DUPLICATES = 10  # of a site, after which VN followed it no further (P3, table 7)

# What each fetch was good for. A page that only a stage failed on is a page.
_WORTH = f"""
case when kind in ({_ASIDE}) then 'robots'
    when not final or status is null or status >= 400 or (reason is not null and reason <> 'stage') then 'failed'
    when status >= 300 then 'redirect'
    when duplicate_of <> 0 then 'duplicate'
    when dropped is not null then 'dropped'
    when kind in ({_PARTS}) then 'part' else 'page' end
"""
_FETCHED = f"""
create temp table fetched as select id, site, kind, depth, final, status, reason, took, bytes, truncated, dropped,
    duplicate_of <> 0 as duplicate, hash(digest) as content, digest is not null as has_content, robots,
    epoch_us(fetched_at) as began, epoch_us(fetched_at) + (took * 1e6)::bigint as ended,
    lower(split_part(coalesce(detected_type, declared_type), ';', 1)) as type, {{language}} as language,
    final and kind not in ({_ASIDE}, {_PARTS}) as page, {_WORTH} as worth
from pages
"""  # noqa: S608
WORTHS = ("page", "part", "redirect", "robots", "duplicate", "failed", "dropped")
WASTED = ("duplicate", "failed", "dropped")
_LANGUAGES = ("detected_language", "language_detected", "lang")  # columns of a stage that looks at the text


def measure(path: Path, *, graph: bool = True) -> dict[str, Any]:
    """Everything there is to say of a crawl."""
    crawl = Crawl(path)
    unknown: dict[str, str] = {}
    with _Asked(crawl) as asked:
        found = _about(crawl, asked) | {"totals": _totals(asked)}
        found |= _by_property(asked)
        found["sites"] = _sites(asked)
        found["duplicates"] = _duplicates(asked)
        found["robots"] = _robots(asked)
        found["time"] = _over_time(asked)
        refused, stopped = _refused(path, unknown)
        found["refused"], found["stopped"] = refused, stopped
        found["thresholds"] = _thresholds(asked, path, refused)
        found["texts"] = _texts(crawl, asked, unknown)
    found["graph"] = _graph(crawl, unknown) if graph else None
    if not graph:
        unknown["graph"] = "it was not asked for"
    if not found["language"]["detected"]:
        unknown["language"] = "the languages are those that pages declare: no stage has looked at their texts"
    return found | {"unknown": unknown}


def over_time(path: Path) -> dict[str, Any] | None:
    """Speed, and bandwidth used and wasted, over the life of a crawl; None where nothing was fetched yet."""
    with _Asked(Crawl(path)) as asked:
        began = asked.row("select min(began) from fetched")[0]
        found = _over_time(asked)
    return None if found is None else found | {"began": began / 1e6}


class _Asked:
    """A database with the fetches of a crawl as they are at one moment."""

    def __init__(self, crawl: Crawl) -> None:
        self._base: duckdb.DuckDBPyConnection = crawl.connection()
        names = {row[0] for row in self._base.execute("describe pages").fetchall()}
        self.detected = next((name for name in _LANGUAGES if name in names), None)
        self._base.execute(_FETCHED.format(language=f'"{self.detected or "language"}"'))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows that a SELECT gives; few."""
        found: list[tuple[Any, ...]] = self._base.execute(sql).fetchall()
        return found

    def row(self, sql: str) -> tuple[Any, ...]:
        """The one row that a SELECT gives."""
        return self.rows(sql)[0]

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """Columns of numbers."""
        found: dict[str, NDArray[Any]] = self._base.execute(sql).fetchnumpy()
        return found


def _about(crawl: Crawl, asked: _Asked) -> dict[str, Any]:
    began, ended, rows = asked.row("select min(began), max(ended), count(*) from fetched")
    return {
        "kind": KIND,
        "version": __version__,
        "crawl": str(crawl.path),
        "running": is_running(crawl.path),
        "began": None if began is None else began / 1e6,
        "ended": None if ended is None else ended / 1e6,
        "seconds": 0.0 if began is None else (ended - began) / 1e6,
        "fetches": rows,
    }


def _totals(asked: _Asked) -> dict[str, Any]:
    pages, good, sites, parts, robots, amount = asked.row(
        "select count(*) filter (page), count(*) filter (page and worth in ('page', 'duplicate', 'dropped')), "  # noqa: S608
        f"count(distinct site), count(*) filter (final and kind in ({_PARTS})), "
        "count(*) filter (kind = 'robots'), coalesce(sum(bytes), 0)::bigint from fetched"
    )
    worths = dict(asked.rows("select worth, count(*) from fetched group by worth"))
    spent = dict(asked.rows("select worth, coalesce(sum(bytes), 0)::bigint from fetched group by worth"))
    return {
        "pages": pages,
        "good": good,
        "parts": parts,
        "robots": robots,
        "sites": sites,
        "bytes": amount,
        "urls": asked.row("select count(*) from urls")[0],
        "links": asked.row("select count(*) from links")[0],
        "fetches_by_worth": {name: worths.get(name, 0) for name in WORTHS},
        "bytes_by_worth": {name: spent.get(name, 0) for name in WORTHS},
    }


# One property of pages at a time.


def _by_property(asked: _Asked) -> dict[str, Any]:
    """Pages by depth, type, status, reason, language, size and latency."""
    good = "page and worth in ('page', 'duplicate', 'dropped')"
    return {
        "depth": [
            {"depth": depth, "pages": pages, "good": came, "bytes": amount}
            for depth, pages, came, amount in asked.rows(
                f"select depth, count(*), count(*) filter ({good}), coalesce(sum(bytes), 0)::bigint "  # noqa: S608
                "from fetched where page group by depth order by depth nulls last"
            )
        ],
        "type": _counted(asked, "type", good),
        "status": _counted(asked, "status", "page"),
        "reason": _counted(asked, "reason", "final and reason is not null"),
        "language": {"detected": asked.detected or "", "counts": _counted(asked, "language", good)},
        "size": _spread(asked, "bytes", f"{good} and bytes > 0"),
        "latency": _spread(asked, "took", "page and status is not null and took > 0"),
    }


def _counted(asked: _Asked, column: str, where: str) -> list[dict[str, Any]]:
    """How often each value comes, the most frequent first; `None` where there is none."""
    rows = asked.rows(
        f"select {column}, count(*) as pages, coalesce(sum(bytes), 0)::bigint, count(distinct site) "  # noqa: S608
        f"from fetched where {where} group by {column} order by pages desc, {column} nulls last"
    )
    return [{"value": value, "pages": pages, "bytes": amount, "sites": sites} for value, pages, amount, sites in rows]


def _spread(asked: _Asked, column: str, where: str) -> dict[str, Any] | None:
    """How a quantity spreads: quantiles by the nearest rank, and how many lie between two powers of two."""
    count, mean, least, most, total, quantiles = asked.row(
        f"select count(*), avg({column}), min({column}), max({column}), sum({column})::double, "  # noqa: S608
        f"quantile_disc({column}, {list(QUANTILES)}) from fetched where {where}"
    )
    if not count:
        return None
    bins = asked.rows(
        f"select floor(log2({column}))::int as bin, count(*) from fetched where {where} group by bin order by bin"  # noqa: S608
    )
    return {
        "count": count,
        "mean": mean,
        "least": least,
        "most": most,
        "total": total,
        "quantiles": {f"{share:.0%}": value for share, value in zip(QUANTILES, quantiles, strict=True)},
        "bins": [{"from": 2.0**power, "to": 2.0 ** (power + 1), "count": many} for power, many in bins],
    }


# Sites, duplicates, robots.


def _sites(asked: _Asked) -> dict[str, Any]:
    asked.rows(
        "create or replace temp table site_sizes as select site, count(*) filter (page) as pages, "
        "count(*) filter (worth = 'page') as good, count(*) filter (page and worth = 'duplicate') as duplicates, "
        "count(*) filter (page and worth = 'failed') as failed, coalesce(sum(bytes), 0)::bigint as bytes, "
        "max(depth) filter (page) as depth from fetched group by site"
    )
    largest = asked.rows(
        "select site, pages, good, duplicates, failed, bytes, depth from site_sizes "  # noqa: S608
        f"where pages > 0 order by pages desc, site limit {MOST}"
    )
    sizes = asked.arrays("select pages from site_sizes where pages > 0 order by pages desc")["pages"]
    names = ("site", "pages", "good", "duplicates", "failed", "bytes", "depth")
    return {
        "count": len(sizes),
        "mean": float(sizes.mean()) if len(sizes) else None,
        "median": float(np.median(sizes)) if len(sizes) else None,
        "in_largest_tenth": _share_of_first(sizes, 0.1),
        "largest": [dict(zip(names, row, strict=True)) for row in largest],
        "by_rank": _thinned(sizes),
    }


def _share_of_first(values: NDArray[Any], share: float) -> float | None:
    """What share of the sum the first have, the largest being first."""
    total = float(values.sum())
    return float(values[: math.ceil(share * len(values))].sum()) / total if total else None


def _thinned(values: NDArray[Any]) -> list[list[float]]:
    """Rank and value, at ranks that are evenly spread on a logarithmic axis."""
    if not len(values):
        return []
    ranks = np.unique(np.geomspace(1, len(values), _PLOTTED).round().astype(np.int64))
    return [[int(rank), float(values[rank - 1])] for rank in ranks]


def _duplicates(asked: _Asked) -> dict[str, Any]:
    """Of pages that came: those whose content was there already; and how many URLs visited had one (P3, 7.2)."""
    good, copies, amount, lost = asked.row(
        "select count(*) filter (worth in ('page', 'duplicate')), count(*) filter (worth = 'duplicate'), "
        "coalesce(sum(bytes) filter (worth in ('page', 'duplicate')), 0)::bigint, "
        "coalesce(sum(bytes) filter (worth = 'duplicate'), 0)::bigint from fetched where page"
    )
    visited, came, tries = asked.row(
        "select count(distinct id), count(distinct id) filter (status between 200 and 299), count(*) "  # noqa: S608
        f"from fetched where kind not in ({_ASIDE})"
    )
    alike = asked.rows(
        "select urls, count(*) from (select count(distinct id) as urls from fetched "
        "where page and worth in ('page', 'duplicate') and has_content group by content) group by urls order by urls"
    )
    return {
        "pages": good,
        "duplicates": copies,
        "share": copies / good if good else None,
        "bytes": amount,
        "bytes_of_duplicates": lost,
        "share_of_bytes": lost / amount if amount else None,
        "urls_visited": visited,
        "urls_downloaded": came,
        "downloads_per_url": came / visited if visited else None,
        "tries_per_url": tries / visited if visited else None,
        "contents_by_urls": [{"urls": urls, "contents": contents} for urls, contents in alike],
    }


def _robots(asked: _Asked) -> dict[str, Any]:
    """What sites say to robots, and pages."""
    answers = asked.rows(
        "select case when status between 200 and 299 and reason is null then 'had' "
        "when status between 400 and 499 and status <> 429 then 'none' else 'failed' end as answer, count(*) from "
        "(select arg_max(status, began) as status, arg_max(reason, began) as reason from fetched "
        "where kind = 'robots' and (status is null or status not between 300 and 399) group by site) group by answer"
    )
    spread = asked.row(
        "select count(*) filter (contains(robots, 'noindex')), count(*) filter (contains(robots, 'nofollow')), "
        "count(*) filter (contains(robots, 'noarchive')), count(*) filter (robots is not null) from fetched where page"
    )
    fetches, amount = asked.row("select count(*), coalesce(sum(bytes), 0)::bigint from fetched where kind = 'robots'")
    found = dict(answers)
    return {
        "sites": {name: found.get(name, 0) for name in ("had", "none", "failed")},
        "fetches": fetches,
        "bytes": amount,
        "pages": dict(zip(("noindex", "nofollow", "noarchive", "any"), spread, strict=True)),
    }


# Over time.


def _over_time(asked: _Asked) -> dict[str, Any] | None:
    """Pages and bytes a second, by what they were good for, and downloads under way, in intervals of one length. A
    fetch counts in the interval in which its last byte came.
    """
    began, ended = asked.row("select min(began), max(ended) from fetched")
    if began is None or ended <= began:
        return None
    width = (ended - began) / INTERVALS
    counted = asked.rows(
        f"select least(floor((ended - {began}) / {width}), {INTERVALS - 1})::int as place, worth, "  # noqa: S608
        "count(*), count(*) filter (page), coalesce(sum(bytes), 0)::bigint from fetched group by place, worth"
    )
    seconds = width / 1e6
    fetches, pages = np.zeros(INTERVALS), np.zeros(INTERVALS)
    amount = {name: np.zeros(INTERVALS) for name in WORTHS}
    for place, worth, many, of_pages, moved in counted:
        fetches[place] += many
        pages[place] += of_pages
        amount[worth][place] += moved
    moved_in_all = np.sum(list(amount.values()), axis=0)
    wasted = np.sum([amount[name] for name in WASTED], axis=0)
    overhead = amount["robots"] + amount["redirect"]
    peak = float(moved_in_all.max())
    return {
        "interval": seconds,
        "pages_rate": (pages / seconds).tolist(),
        "fetches_rate": (fetches / seconds).tolist(),
        "useful_rate": ((moved_in_all - wasted - overhead) / seconds).tolist(),
        "overhead_rate": (overhead / seconds).tolist(),
        "wasted_rate": (wasted / seconds).tolist(),
        "downloads_under_way": _under_way(asked, began, ended),
        "mean_rate": float(moved_in_all.sum()) / (INTERVALS * seconds),
        "peak_rate": peak / seconds,
        "idle_share": 1 - float(moved_in_all.mean()) / peak if peak else None,
        "wasted_share": float(wasted.sum() / moved_in_all.sum()) if moved_in_all.sum() else None,
        "overhead_share": float(overhead.sum() / moved_in_all.sum()) if moved_in_all.sum() else None,
    }


def _under_way(asked: _Asked, began: int, ended: int) -> list[float]:
    """How many downloads there were at a time, the mean of each interval."""
    from weft.sim.usage import levels

    times = asked.arrays("select began, ended from fetched where ended > began")
    begins, ends = ((times[name] - began) / 1e6 for name in ("began", "ended"))
    found: list[float] = levels(begins, ends, points=INTERVALS, until=(ended - began) / 1e6)[1].tolist()
    return found


# What was refused, and which limits were reached.


def _refused(path: Path, unknown: dict[str, str]) -> tuple[list[dict[str, Any]] | None, dict[str, str]]:
    """How often a rule said no, by reason; and sites that are followed no further, with theirs."""
    try:
        with managing(str(path)) as managed:
            status = managed.status()
    except WeftError as error:
        unknown["refused"] = (
            f"what rules refused is counted in the global frontier, which cannot be asked: {error.what}"
        )
        return None, {}
    rows = [{"reason": reason, "count": count, "meaning": _meaning(reason)} for reason, count in status.refused.items()]
    return rows, status.stopped


def _meaning(reason: str) -> str:
    return next((known.doc for known in Reason if known.value == reason), "")


def _thresholds(asked: _Asked, path: Path, refused: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Which limit stopped how many sites and URLs, as in table 7 of P3; `None` where that is not known."""
    selection = Settings().with_file(path / "crawl.toml")
    sites = asked.row("select count(*) from site_sizes")[0]
    urls = asked.row(f"select count(distinct id) from fetched where kind not in ({_ASIDE})")[0]  # noqa: S608
    counts = {each["reason"]: each["count"] for each in refused or ()}
    said = None if refused is None else counts

    def refusals(reason: str) -> int | None:
        return None if said is None else said.get(reason, 0)

    def stopped(where: str) -> tuple[int, int]:
        found = asked.row(f"select count(distinct site), count(distinct id) from fetched where {where}")  # noqa: S608
        return int(found[0]), int(found[1])

    def of_sites(column: str, least: int | None) -> int | None:
        if least is None:
            return None
        return int(asked.row(f"select count(*) from site_sizes where {column} >= {least}")[0])  # noqa: S608

    most_pages = _setting(selection, "max_site_pages")
    deepest = _setting(selection, "max_depth")
    late, cut = stopped("reason = 'timeout' or truncated = 'time'"), stopped("truncated = 'length'")
    rows: list[tuple[str, Any, int | None, int | None, int | None]] = [
        ("duplicates of a site", _PAPER_DUPLICATES, of_sites("duplicates", _PAPER_DUPLICATES), None, None),
        ("pages of a site", most_pages, of_sites("pages", most_pages), None, refusals("site-pages")),
        ("bytes of a site", _setting(selection, "max_site_bytes") or None, None, None, refusals("site-bytes")),
        ("time of a site", _setting(selection, "max_site_time") or None, None, None, refusals("site-time")),
        ("depth", deepest, of_sites("depth", deepest), None, refusals("depth")),
        ("download time", _setting(selection, "timeout"), late[0], late[1], None),
        ("size", _setting(selection, "max_bytes_page"), cut[0], cut[1], None),
        ("URL length", _setting(selection, "max_url"), None, None, refusals("url-length")),
    ]
    return [
        {
            "threshold": name,
            "limit": limit,
            "sites": of,
            "sites_share": None if of is None or not sites else of / sites,
            "urls": many,
            "urls_share": None if many is None or not urls else many / urls,
            "refusals": said_no,
        }
        for name, limit, of, many, said_no in rows
    ]


def _setting(settings: Settings, name: str) -> Any:
    """A setting by its name, in whichever section it is."""
    section = next(section for section, names in SECTIONS.items() if name in names)
    return getattr(getattr(settings, section), name)


# Texts and the graph.


def _texts(crawl: Crawl, asked: _Asked, unknown: dict[str, str]) -> list[dict[str, Any]] | None:
    """Texts by media type, as in table 6 of P3: of how many contents there is one, and why of others there is none."""
    written = crawl.written_texts()
    if written is None:
        unknown["texts"] = "no texts were made of the contents: neither had the crawl the stage, nor was weft text run"
        return None
    rows = asked.rows(
        f"select type, count(*), count(*) filter (has), why from (select any_value(fetched.type) as type, "  # noqa: S608
        f"bool_or(coalesce(texts.{written.text}, '') <> '') as has, any_value({_why(written)}) as why "
        f"from fetched left join {written.table} as texts on texts.id = fetched.id and texts.final "
        "where fetched.page and fetched.worth in ('page', 'duplicate') group by fetched.id) group by type, why"
    )
    found: dict[str | None, dict[str, Any]] = {}
    for media, many, good, said in rows:
        each = found.setdefault(media, {"type": media, "contents": 0, "texts": 0, "reasons": {}})
        each["contents"] += many
        each["texts"] += good
        if many > good:
            each["reasons"][said or "none"] = each["reasons"].get(said or "none", 0) + many - good
    return sorted(found.values(), key=lambda each: (-each["contents"], each["type"] or ""))


def _why(written: Written) -> str:
    return f"texts.{written.reason}" if written.reason else "null"


def _graph(crawl: Crawl, unknown: dict[str, str]) -> dict[str, Any] | None:
    """Degrees and PageRank of the pages that were fetched, and the links between them."""
    from weft.graph.rank import pagerank
    from weft.harvest import build

    try:
        stored = build(crawl.path, crawl.files)
    except WeftError as error:
        unknown["graph"] = f"there is no graph to compute degrees and PageRank from: {error.what}"
        return None
    graph, urls = stored.graph, stored.urls
    assert urls is not None
    out_degree = np.diff(graph.offsets)
    in_degree = np.bincount(graph.links, minlength=graph.pages)
    scores = pagerank(graph.offsets, graph.links)
    best = np.lexsort((np.arange(len(scores)), -scores))[:MOST]
    by_site = np.bincount(graph.site_of(np.arange(graph.pages)), weights=scores, minlength=graph.sites)
    ranked = np.sort(scores)[::-1]
    first_pages = graph.first_page
    top_sites = np.lexsort((np.arange(len(by_site)), -by_site))[:MOST]
    return {
        "pages": int(graph.pages),
        "links": len(graph.links),
        "left_out": stored.about["dropped"],
        "out_degree": _degrees(out_degree),
        "in_degree": _degrees(in_degree),
        "pagerank": {
            "highest": [{"url": urls[int(page)], "score": float(scores[page])} for page in best],
            "sites": [
                {
                    "site": _site(urls[int(first_pages[site])]),
                    "pages": int(first_pages[site + 1] - first_pages[site]),
                    "score": float(by_site[site]),
                }
                for site in top_sites
            ],
            "in_first_hundredth": _share_of_first(ranked, 0.01),
            "in_first_tenth": _share_of_first(ranked, 0.1),
            "by_rank": _thinned(ranked),
        },
    }


def _site(url: str) -> str:
    from weft.urls import site_of

    return site_of(url)


def _degrees(values: NDArray[Any]) -> dict[str, Any]:
    """How a degree spreads."""
    degrees, counts = np.unique(values, return_counts=True)
    return {
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "most": int(values.max()),
        "none": int((values == 0).sum()),
        "counts": [[int(degree), int(count)] for degree, count in zip(degrees, counts, strict=True)],
    }
