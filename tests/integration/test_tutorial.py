"""The columns of a crawl by two workers in two runs: what the tutorial asks them, and what it is answered."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
from tests.commands import weft
from tests.crawling import crawl, make_web, rows

from weft.app import Summary
from weft.explain import explain_url
from weft.harvest import build
from weft.store.log import FIELDS
from weft.store.reading import CrawlFiles
from weft.testbed.bed import serving
from weft.testbed.links import says_nofollow
from weft.testbed.options import Options
from weft.testbed.truth import expected
from weft.testbed.web import Web
from weft.urls import fingerprint, signed, site_of

pytestmark = pytest.mark.xdist_group("tutorial")  # the crawl is made once
TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
WILD = Options(
    failing_kinds="404=8 503=2", retry_after_s=0, crawl_delay_s=0.01, nofollow=0.1, meta_robots=0.05, sitemaps=0.0
)


class Crawled(NamedTuple):
    """A crawl, and the web that it was of."""

    out: Path
    web: Web
    summary: Summary

    def log(self) -> list[dict[str, str]]:
        """The lines of its log, which knows nothing of columns."""
        text = (self.out / "log" / "crawl.log").read_text(encoding="utf-8")
        return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in text.splitlines()]

    def pages(self) -> Iterator[int]:
        """The pages of the web that a crawler comes to, by the truth of the testbed."""
        page_of = {self.web.url(page): page for page in range(self.web.graph.pages)}
        for found in expected(self.web):
            if found.kind in ("page", "duplicate"):
                yield page_of[found.url]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """A crawl that was stopped at a limit, and went on."""
    out = tmp_path_factory.mktemp("tutorial") / "crawl"
    with serving(make_web(WILD, sites=40, pages=1200, largest=80)) as bed:
        crawl(bed, out, workers=2, max_pages=500)
        yield Crawled(out, bed.web, crawl(bed, out, workers=2))


# What the tutorial asks.


def blocks() -> list[str]:
    """The commands of the tutorial that ask the columns."""
    return re.findall(r'^weft query CRAWL "(.*?)"$', TUTORIAL.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def ask(out: Path, sql: str, *options: str) -> str:
    """What `weft query` prints."""
    return weft("query", out, sql, *options)


def fetches_by_site_and_status(crawled: Crawled) -> Counter[tuple[str, str]]:
    """From the log: the first query."""
    results = ((site_of(line["url"]), line["result"].split()[0]) for line in crawled.log())
    return Counter((site, "None" if status == "-" else status) for site, status in results)


def failures_by_reason(crawled: Crawled) -> Counter[tuple[str, ...]]:
    """From the log: the second query."""
    results = (line["result"].split() for line in crawled.log() if line["kind"] != "robots")
    return Counter((result[1],) for result in results if len(result) == 2)


def links_from_other_sites(crawled: Crawled) -> Counter[tuple[str, ...]]:
    """From the web that was served: the third query."""
    web = crawled.web
    found = ((site_of(web.url(page)), link) for page in crawled.pages() for link in web.links(page))
    return Counter((link,) for site, link in found if site_of(link) != site)


@pytest.mark.parametrize(
    ("number", "right"), list(enumerate([fetches_by_site_and_status, failures_by_reason, links_from_other_sites]))
)
def test_tutorial__its_queries_give_the_right_numbers(
    crawled: Crawled, number: int, right: Callable[[Crawled], Counter[Any]]
) -> None:
    """They are compared with what the log says, and with the web that was served."""
    assert len(blocks()) == 3, "the tutorial asks something that no test answers"
    lines = ask(crawled.out, blocks()[number], "--json").splitlines()
    answer = [tuple(map(str, json.loads(line).values())) for line in lines]
    counts = right(crawled)
    assert answer
    assert len(answer) == min(len(counts), 20 if number == 0 else 10)
    assert (
        sorted((int(row[-1]) for row in answer), reverse=True) == sorted(counts.values(), reverse=True)[: len(answer)]
    )
    assert {row[:-1]: int(row[-1]) for row in answer} == {row[:-1]: counts[row[:-1]] for row in answer}


def test_tutorial__its_python_keeps_ids_exactly(crawled: Crawled) -> None:
    """With pandas and its usual types, the page where each URL was found is found again by its id."""
    (code,) = re.findall(r"^```python\n(.*?)^```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    known: dict[str, Any] = {}
    exec(code.replace("CRAWL", str(crawled.out)), known)  # noqa: S102  it is our own document
    pages, found = known["pages"], known["found_on_a_page"]
    assert str(pages.via.dtype) == str(pages.id.dtype) == str(pages.duplicate_of.dtype) == "int64"
    assert len(found) == (pages.via != 0).sum() > 1000
    assert pages.duplicate_of[pages.duplicate_of != 0].isin(pages.id).all()
    assert dict(zip(pages.url, pages.id, strict=True)) == {url: signed(fingerprint(url)) for url in pages.url}


def test_columns__survive_pandas(crawled: Crawled) -> None:
    """Joins by id lose nothing and double nothing; kinds are words."""
    links, urls = (pd.read_parquet(crawled.out / name) for name in ("links", "urls"))
    assert len(links.merge(urls, left_on="target", right_on="id")) == len(links)
    assert set(links.kind.unique()) == {"a", "redirect"}
    assert links.nofollow.dtype == bool


# Each URL once, links that are not followed.


def test_urls__stand_there_once_after_a_crawl(crawled: Crawled) -> None:
    """Workers found them in two runs, some more than once; those too that a rule refused, and no frontier has."""
    assert len(list((crawled.out / "urls").glob("part-*.parquet"))) >= 2
    every, distinct = rows(crawled.out, "count(*), count(distinct id)", table="urls")[0]
    assert every == distinct
    ids = {number for (number,) in rows(crawled.out, "id", table="urls")}
    linked = {number for row in rows(crawled.out, "source, target", table="links") for number in row}
    assert linked <= ids


def test_nofollow_links__are_there_with_a_mark(crawled: Crawled) -> None:
    """As many as the pages hold, by rel and by the page; those without the mark are the ones that were followed."""
    web, wanted = crawled.web, Counter[tuple[str, bool]]()
    for page in crawled.pages():
        original = web.pages.original(page)
        whole = any(
            "nofollow" in said or said == "none" for said in (web.pages.meta_robots(page), web.pages.x_robots(page))
        )
        for number, link in enumerate(web.links(page)):
            left = whole or says_nofollow(web.scene.key, web.scene.nofollow, original, number)
            wanted[link, left] += 1
    texts = dict(rows(crawled.out, "id, url", table="urls"))
    found = rows(crawled.out, "target, nofollow, count(*)", "kind = 'a' group by all", table="links")
    assert {(texts[target], left): count for target, left, count in found} == wanted
    assert crawled.summary.refused["nofollow"] > 0


def test_nofollow_links__are_the_reason_why_a_page_was_not_crawled(crawled: Crawled) -> None:
    """`weft explain` says so of a URL that nothing else links to, and the frontier does not know it."""
    only = rows(
        crawled.out,
        "url",
        f"id not in (select id from '{crawled.out}/pages/*.parquet') and "  # noqa: S608
        f"id in (select target from '{crawled.out}/links/*.parquet' group by target having bool_and(nofollow))",
        table="urls",
    )
    assert only
    for (url,) in only[:5]:
        answer = explain_url(crawled.out, url)
        assert answer.state == "refused"
        assert "(nofollow)" in answer.verdict
        assert answer.rules["nofollow"] == "refuses"
        assert answer.because
    followed = rows(crawled.out, "url", "status = 200 and kind = 'a'")[0][0]
    assert explain_url(crawled.out, followed).state == "fetched"


def test_nofollow_links__are_in_no_graph(crawled: Crawled) -> None:
    """A graph of the crawl has the links that were followed."""
    stored = build(crawled.out)
    assert stored.urls is not None
    files = CrawlFiles(crawled.out)
    left = {
        (source, target)
        for batch in files.batches("links", ("source", "target", "nofollow"))
        for source, target, nofollow in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        if nofollow
    } - {
        (source, target)
        for batch in files.batches("links", ("source", "target", "nofollow"))
        for source, target, nofollow in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        if not nofollow
    }
    assert left
    ids = [signed(fingerprint(stored.urls[page])) for page in range(stored.graph.pages)]
    drawn = {(ids[page], ids[int(target)]) for page in range(len(ids)) for target in stored.graph.links_of(page)}
    redirects = {source for (source,) in rows(crawled.out, "source", "kind = 'redirect'", table="links")}
    assert {pair for pair in left if pair[1] not in redirects}.isdisjoint(drawn)
