"""The report of a crawl: each of its numbers, found by another way from the rows; and the page that shows them."""

from __future__ import annotations

import html.parser
import json
import math
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.commands import weft
from tests.crawling import crawl, make_web

from weft.app import Summary
from weft.printing import plots
from weft.report.numbers import INTERVALS, QUANTILES, measure
from weft.report.page import made_page
from weft.testbed.bed import serving
from weft.testbed.options import Options
from weft.urls import site_of

pytestmark = pytest.mark.xdist_group("report")  # the crawl is made once
WEB = Options(requisites=True, duplicates=0.6, failing=0.1, robots_delays=0.0, failing_kinds="404=3,500=1,reset=1")
PARTS = {"image", "style", "script", "part"}
LARGEST = 40  # pages of a site


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    """A small web with all that a report counts."""
    out = tmp_path_factory.mktemp("report") / "crawl"
    with serving(make_web(WEB, sites=12, pages=300)) as bed:
        return out, crawl(bed, out, requisites=True, max_site_pages=LARGEST)


@pytest.fixture(scope="module")
def rows(crawled: tuple[Path, Summary]) -> list[dict[str, Any]]:
    """All rows of pages, as plain Python has them."""
    return [row for path in (crawled[0] / "pages").glob("*.parquet") for row in pq.read_table(path).to_pylist()]


@pytest.fixture(scope="module")
def numbers(crawled: tuple[Path, Summary]) -> dict[str, Any]:
    """What the command prints."""
    found: dict[str, Any] = json.loads(weft("report", crawled[0], "--json"))
    return found


def is_page(row: dict[str, Any]) -> bool:
    """Is it the last fetch of a page?"""
    return row["final"] and row["kind"] not in PARTS | {"robots"}


def worth(row: dict[str, Any]) -> str:
    """What a fetch was good for."""
    if row["kind"] == "robots":
        return "robots"
    if not row["final"] or row["status"] is None or row["status"] >= 400 or row["reason"] not in (None, "stage"):
        return "failed"
    if row["status"] >= 300:
        return "redirect"
    if row["duplicate_of"]:
        return "duplicate"
    if row["dropped"]:
        return "dropped"
    return "part" if row["kind"] in PARTS else "page"


def came(row: dict[str, Any]) -> bool:
    """Is it a page that came with a content?"""
    return is_page(row) and worth(row) in {"page", "duplicate", "dropped"}


def test_totals__agree_with_the_rows_and_with_the_summary(
    crawled: tuple[Path, Summary], rows: list[dict[str, Any]], numbers: dict[str, Any]
) -> None:
    """Pages, contents, sites, fetches and bytes, and what these were good for."""
    totals, counts = numbers["totals"], crawled[1].counts
    assert totals["pages"] == counts.pages == sum(map(is_page, rows))
    assert totals["good"] == counts.good == sum(map(came, rows))
    assert totals["parts"] == counts.parts > 0
    assert totals["sites"] == len({row["site"] for row in rows})
    assert numbers["fetches"] == counts.fetches == len(rows)
    assert totals["bytes"] == counts.bytes == sum(row["bytes"] or 0 for row in rows)
    spent: Counter[str] = Counter()
    for row in rows:
        spent[worth(row)] += row["bytes"] or 0
    assert {name: many for name, many in totals["fetches_by_worth"].items() if many} == Counter(map(worth, rows))
    assert totals["bytes_by_worth"] == {name: spent[name] for name in totals["bytes_by_worth"]}
    assert {"page", "duplicate", "failed", "redirect", "part", "robots"} <= {worth(row) for row in rows}


def test_properties__are_counted(rows: list[dict[str, Any]], numbers: dict[str, Any]) -> None:
    """Depth, type, status, reason and language; with bytes and sites."""
    pages, good = [row for row in rows if is_page(row)], [row for row in rows if came(row)]
    assert {each["depth"]: each["pages"] for each in numbers["depth"]} == Counter(row["depth"] for row in pages)
    assert {each["depth"]: each["good"] for each in numbers["depth"] if each["good"]} == Counter(
        row["depth"] for row in good
    )
    failed = [row for row in rows if row["final"] and row["reason"]]
    for counts, values in (
        (numbers["type"], [(row["detected_type"] or row["declared_type"], row) for row in good]),
        (numbers["status"], [(row["status"], row) for row in pages]),
        (numbers["reason"], [(row["reason"], row) for row in failed]),
        (numbers["language"]["counts"], [(row["language"], row) for row in good]),
    ):
        assert {each["value"]: each["pages"] for each in counts} == Counter(value for value, _ in values)
        assert [each["pages"] for each in counts] == sorted((each["pages"] for each in counts), reverse=True)
        for each in counts:
            those = [row for value, row in values if value == each["value"]]
            assert each["bytes"] == sum(row["bytes"] or 0 for row in those)
            assert each["sites"] == len({row["site"] for row in those})
    assert "declare" in numbers["unknown"]["language"]


@pytest.mark.parametrize("name", ["size", "latency"])
def test_spreads__have_quantiles_and_bins(rows: list[dict[str, Any]], numbers: dict[str, Any], name: str) -> None:
    """By the nearest rank, and between powers of two."""
    if name == "size":
        values = sorted(row["bytes"] for row in rows if came(row) and row["bytes"])
    else:
        values = sorted(row["took"] for row in rows if is_page(row) and row["status"] is not None and row["took"] > 0)
    spread = numbers[name]
    assert spread["count"] == len(values)
    assert spread["mean"] == pytest.approx(sum(values) / len(values), rel=1e-6)
    assert (spread["least"], spread["most"]) == pytest.approx((values[0], values[-1]), rel=1e-6)
    for share in QUANTILES:
        nearest = values[math.ceil(share * len(values)) - 1]
        assert spread["quantiles"][f"{share:.0%}"] == pytest.approx(nearest, rel=1e-6)
    bins = Counter(math.floor(math.log2(value)) for value in values)
    assert {round(math.log2(each["from"])): each["count"] for each in spread["bins"]} == bins


def test_sites__are_sorted_by_size(rows: list[dict[str, Any]], numbers: dict[str, Any]) -> None:
    """With what came of their pages."""
    by_site: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_site[row["site"]].append(row)
    sizes = sorted((sum(map(is_page, some)) for some in by_site.values()), reverse=True)
    sizes = [size for size in sizes if size]
    assert numbers["sites"]["count"] == len(sizes)
    assert numbers["sites"]["mean"] == pytest.approx(sum(sizes) / len(sizes))
    assert numbers["sites"]["by_rank"] == [[rank, size] for rank, size in enumerate(sizes, 1)]
    first = math.ceil(len(sizes) / 10)
    assert numbers["sites"]["in_largest_tenth"] == pytest.approx(sum(sizes[:first]) / sum(sizes))
    for each in numbers["sites"]["largest"]:
        some = [row for row in by_site[each["site"]] if is_page(row)]
        assert each["pages"] == len(some)
        assert each["duplicates"] == sum(worth(row) == "duplicate" for row in some)
        assert each["failed"] == sum(worth(row) == "failed" for row in some)
        assert each["depth"] == max(row["depth"] for row in some)
        assert each["bytes"] == sum(row["bytes"] or 0 for row in by_site[each["site"]])


def test_duplicates__and_downloads_per_url(
    crawled: tuple[Path, Summary], rows: list[dict[str, Any]], numbers: dict[str, Any]
) -> None:
    """As paper 003 counts them in table 9; and how many URLs a content has."""
    found = numbers["duplicates"]
    good = [row for row in rows if is_page(row) and worth(row) in {"page", "duplicate"}]
    copies = [row for row in good if row["duplicate_of"]]
    assert found["duplicates"] == crawled[1].counts.duplicates == len(copies) > 5
    assert found["share"] == pytest.approx(len(copies) / len(good))
    assert found["bytes_of_duplicates"] == sum(row["bytes"] for row in copies)
    tried = [row for row in rows if row["kind"] != "robots"]
    visited = {row["id"] for row in tried}
    downloaded = {row["id"] for row in tried if 200 <= (row["status"] or 0) < 300}
    assert found["downloads_per_url"] == pytest.approx(len(downloaded) / len(visited))
    assert found["tries_per_url"] == pytest.approx(len(tried) / len(visited))
    urls: dict[str, set[int]] = defaultdict(set)
    for row in good:
        urls[row["digest"]].add(row["id"])
    assert {each["urls"]: each["contents"] for each in found["contents_by_urls"]} == Counter(map(len, urls.values()))


def test_robots__and_what_pages_ask(rows: list[dict[str, Any]], numbers: dict[str, Any]) -> None:
    """The last answer of each site counts."""
    last: dict[str, dict[str, Any]] = {}
    for row in sorted((row for row in rows if row["kind"] == "robots"), key=lambda row: row["fetched_at"]):
        if row["status"] is None or not 300 <= row["status"] < 400:
            last[row["site"]] = row
    had = sum(row["reason"] is None and 200 <= (row["status"] or 0) < 300 for row in last.values())
    none = sum(400 <= (row["status"] or 0) < 500 and row["status"] != 429 for row in last.values())
    assert numbers["robots"]["sites"] == {"had": had, "none": none, "failed": len(last) - had - none}
    for word in ("noindex", "nofollow", "noarchive"):
        assert numbers["robots"]["pages"][word] == sum(word in (row["robots"] or "") for row in rows if is_page(row))


def test_thresholds__stopped_sites_and_urls(
    crawled: tuple[Path, Summary], rows: list[dict[str, Any]], numbers: dict[str, Any]
) -> None:
    """As in table 7 of paper 003, with what rules refused."""
    found = {each["threshold"]: each for each in numbers["thresholds"]}
    pages = Counter(row["site"] for row in rows if is_page(row))
    copies = Counter(row["site"] for row in rows if is_page(row) and worth(row) == "duplicate")
    sites = len({row["site"] for row in rows})
    assert found["pages of a site"]["limit"] == LARGEST
    assert found["pages of a site"]["sites"] == sum(many >= LARGEST for many in pages.values()) > 0
    assert found["pages of a site"]["sites_share"] == pytest.approx(found["pages of a site"]["sites"] / sites)
    assert found["pages of a site"]["refusals"] == crawled[1].refused["site-pages"]
    assert found["duplicates of a site"]["sites"] == sum(many >= 10 for many in copies.values())
    assert found["depth"]["sites"] == 0
    late = {row["id"] for row in rows if row["reason"] == "timeout" or row["truncated"] == "time"}
    assert found["download time"]["urls"] == len(late)
    assert {each["reason"]: each["count"] for each in numbers["refused"]} == crawled[1].refused
    assert all(each["meaning"] for each in numbers["refused"])


def test_time__has_all_pages_and_bytes(rows: list[dict[str, Any]], numbers: dict[str, Any]) -> None:
    """Over all intervals the sums are the totals; downloads under way are the time that they took."""
    time = numbers["time"]
    assert len(time["pages_rate"]) == INTERVALS
    width = time["interval"]
    assert sum(time["pages_rate"]) * width == pytest.approx(numbers["totals"]["pages"])
    assert sum(time["fetches_rate"]) * width == pytest.approx(len(rows))
    spent = numbers["totals"]["bytes_by_worth"]
    assert sum(time["wasted_rate"]) * width == pytest.approx(
        sum(spent[name] for name in ("duplicate", "failed", "dropped"))
    )
    assert sum(time["overhead_rate"]) * width == pytest.approx(spent["robots"] + spent["redirect"])
    assert sum(time["useful_rate"]) * width == pytest.approx(spent["page"] + spent["part"])
    took = sum(max(0.0, row["took"]) for row in rows)
    assert sum(time["downloads_under_way"]) * width == pytest.approx(took, rel=1e-3)
    began = min(row["fetched_at"].timestamp() for row in rows)
    # One interval by hand: how long each download was in it.
    place = max(range(INTERVALS), key=lambda place: time["downloads_under_way"][place])
    start, end = began + place * width, began + (place + 1) * width
    inside = 0.0
    for row in rows:
        first = row["fetched_at"].timestamp()
        inside += max(0.0, min(end, first + row["took"]) - max(start, first))
    assert time["downloads_under_way"][place] == pytest.approx(inside / width, rel=1e-2)
    assert 0 <= time["idle_share"] < 1
    assert time["wasted_share"] == pytest.approx(sum(time["wasted_rate"]) * width / numbers["totals"]["bytes"])


def test_graph__has_degrees_and_pagerank(
    crawled: tuple[Path, Summary], rows: list[dict[str, Any]], numbers: dict[str, Any]
) -> None:
    """Of the links between pages that came, each once; PageRank by the plain iteration."""
    graph = numbers["graph"]
    pages = [row for row in rows if is_page(row) and row["kind"] != "map"]
    good = {row["id"]: row["url"] for row in pages if row["status"] == 200}
    moved = {row["id"]: row["redirect"] for row in rows if row["final"] and row["redirect"]}
    by_url = {url: page for page, url in good.items()}
    links: set[tuple[int, int]] = set()

    def led(page: int) -> int:
        """Where an address leads, by one redirect as they are here."""
        return by_url.get(moved[page], 0) if page in moved and page not in good else page

    for path in (crawled[0] / "links").glob("*.parquet"):
        for link in pq.read_table(path).to_pylist():
            target = led(link["target"])
            if link["source"] in good and target in good and not link["nofollow"] and link["kind"] not in PARTS:
                links.add((link["source"], target))
    links = {(source, target) for source, target in links if source != target}
    found = {led(row["id"]) for row in pages if row["kind"] == "seed"} & good.keys()
    while more := {target for source, target in links if source in found} - found:
        found |= more
    assert graph["left_out"]["unreached"] == len(good) - len(found)
    good = {page: url for page, url in good.items() if page in found}
    links = {(source, target) for source, target in links if source in found}
    assert (graph["pages"], graph["links"]) == (len(good), len(links))
    degrees_out, degrees_in = Counter(source for source, _ in links), Counter(target for _, target in links)
    assert dict(map(tuple, graph["out_degree"]["counts"])) == Counter(degrees_out.get(page, 0) for page in good)
    assert dict(map(tuple, graph["in_degree"]["counts"])) == Counter(degrees_in.get(page, 0) for page in good)
    scores = dict.fromkeys(good, 1 / len(good))
    for _ in range(150):
        given: dict[int, float] = defaultdict(float)
        for source, target in links:
            given[target] += scores[source] / degrees_out[source]
        scores = {page: 0.15 / len(good) + 0.85 * given[page] for page in good}
    total = sum(scores.values())
    best = sorted(((score / total, good[page]) for page, score in scores.items()), reverse=True)
    highest = graph["pagerank"]["highest"]
    assert highest[0]["url"] == best[0][1]
    assert [each["score"] for each in highest] == pytest.approx([score for score, _ in best[: len(highest)]], rel=1e-4)
    of_sites: dict[str, float] = defaultdict(float)
    for score, url in best:
        of_sites[site_of(url)] += score
    assert {each["site"]: each["score"] for each in graph["pagerank"]["sites"]} == pytest.approx(of_sites, rel=1e-4)


class _Looked(html.parser.HTMLParser):
    """What a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.elsewhere: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "data") and value and not value.startswith("#"):
                self.elsewhere.append(value)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_page__needs_nothing_else_and_says_what_is_not_known(
    crawled: tuple[Path, Summary], numbers: dict[str, Any], tmp_path: Path
) -> None:
    """One file: no script, nothing loaded; each figure has a caption and a description."""
    path = tmp_path / "report.html"
    weft("report", crawled[0], "--out", path)
    text = path.read_text(encoding="utf-8")
    looked = _Looked()
    looked.feed(text)
    assert looked.tags["script"] == 0
    assert looked.elsewhere == []
    assert re.findall(r"url\((?!#)", text) == []
    figures = looked.tags["figure"]
    if plots.available():
        assert figures >= 12
        assert "idle" in looked.words  # hatched, beside what was used
    assert looked.tags["figcaption"] == figures == len(re.findall(r'<svg role="img" aria-label="[^"]+"', text))
    assert "viewport" in text
    assert "@media print" in text
    words = " ".join(looked.words)
    for title in ("Speed", "Bandwidth used and wasted", "Sites by size", "Links and PageRank", "Thresholds", "Robots"):
        assert title in words
    assert "Not known: no texts were made" in words
    assert f"{numbers['totals']['pages']:,} pages of" in words


def test_page__of_a_crawl_without_pages_says_so(crawled: tuple[Path, Summary], tmp_path: Path) -> None:
    """Everything that cannot be told is said to be unknown, and nothing fails."""
    out = tmp_path / "empty"
    out.mkdir()
    for name in ("crawl.toml", "seeds.txt", "hash.key"):
        (out / name).write_bytes((crawled[0] / name).read_bytes())
    found = measure(out)
    assert (found["fetches"], found["time"], found["size"], found["graph"], found["refused"]) == (
        0,
        None,
        None,
        None,
        None,
    )
    assert set(found["unknown"]) == {"refused", "texts", "graph", "language"}
    page = made_page(found).html()
    assert "Nothing was fetched yet" in page
    assert page.count("Not known") >= 6


def test_texts__are_counted_by_type(crawled: tuple[Path, Summary], rows: list[dict[str, Any]], tmp_path: Path) -> None:
    """As in table 6 of paper 003: of how many contents there is one, and why of others there is none."""
    import pyarrow as pa

    out = tmp_path / "copy"
    out.mkdir()
    for path in crawled[0].iterdir():
        (out / path.name).symlink_to(path)
    pages = {row["id"]: row for row in rows if is_page(row) and worth(row) in {"page", "duplicate"}}
    html_pages = [page for page, row in pages.items() if row["detected_type"] == "text/html"]
    had, failed = html_pages[:20], html_pages[20:25]
    texts = ["words"] * len(had) + [None] * len(failed)
    reasons = [None] * len(had) + ["timeout"] * len(failed)
    (out / "stage-text").mkdir()
    table = pa.table({"id": pa.array(had + failed, pa.int64()), "text": texts, "reason": reasons})
    pq.write_table(table, out / "stage-text" / "part-0-00001.parquet")
    found = measure(out, graph=False)
    assert found["graph"] is None
    (each,) = (each for each in found["texts"] if each["type"] == "text/html")
    assert (each["contents"], each["texts"]) == (len(html_pages), 20)
    assert each["reasons"] == {"timeout": 5, "none": len(html_pages) - 25}
    assert "Of how many contents there is a text" in made_page(found).html()
