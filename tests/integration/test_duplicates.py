"""Duplicates over the network: near ones in clusters, earlier crawls that are known, copies of sites that are not
visited.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.commands import weft
from tests.crawling import rows
from tests.siege import Siege, wait_until
from tests.small_site import Pages, SmallSite, links, small_site

from weft.app import Summary, run
from weft.audit import audit_crawl
from weft.config import Settings
from weft.directory import Plan
from weft.duplicates.clusters import find_duplicates
from weft.store.reading import CrawlFiles
from weft.store.warc import warc_date

TEXTS = 8


def texts() -> Pages:
    """Pages of 600 words, each with an exact copy and one in which a word is another; the first leads to all."""
    chance = random.Random(3)
    pages: Pages = {}
    for number in range(TEXTS):
        words = [f"w{chance.randrange(5000)}" for _ in range(600)]
        text = " ".join(words)
        pages[f"/{number}"] = pages[f"/{number}/copy"] = f"<p>{text}".encode()
        words[chance.randrange(600)] = "edited"
        pages[f"/{number}/edited"] = f"<title>Edited</title><p>{' '.join(words)}".encode()
    pages["/short"] = b"<p>too few words for a SimHash"
    pages["/"] = links(*pages)
    return pages


@contextmanager
def sites(*pages: Pages) -> Iterator[list[SmallSite]]:
    """Several sites, at ports of one address."""
    if not pages:
        yield []
        return
    with small_site(pages[0]) as first, sites(*pages[1:]) as others:
        yield [first, *others]


def crawled(seeds: list[SmallSite], out: Path, **settings: Any) -> Summary:
    """A crawl of small sites."""
    values = {"wait": 0.0, "per_address": 10, "commit_every": 0.2, "max_depth": 50} | settings
    plan = Plan(seeds=[site.url() for site in seeds], out=out, settings=Settings().with_values(values, where="a test"))
    return run(plan)


@pytest.mark.restarts
def test_near_duplicates__are_clusters_also_of_a_crawl_that_was_killed(tmp_path: Path) -> None:
    """Every page has its SimHash, on whichever side of the kill it was fetched."""
    out = tmp_path / "crawl"
    with small_site(texts()) as site:
        command = [sys.executable, "-m", "weft", "crawl", site.url(), "--out", str(out), "--simhash", "--wait", "0"]
        command += ["--per-visit", "3", "--commit-every", "0.1", "--speed", "20 pages/s"]
        siege = Siege(command, tmp_path / "output.txt")
        try:
            wait_until(lambda: len(site.asked) > TEXTS, "nothing was fetched")
            siege.stop()
            siege.start()
            assert siege.finish() == 0, (tmp_path / "output.txt").read_text(encoding="utf-8")[-2000:]
        finally:
            siege.close()
    found = dict(rows(out, "replace(url, site, ''), simhash", "final and kind <> 'robots'"))
    assert len(found) == 3 * TEXTS + 2
    assert sorted(path for path, bits in found.items() if bits is None) == ["http:///", "http:///short"]
    listed = find_duplicates(out)
    assert (listed.pages, listed.exact, listed.near, listed.clusters) == (3 * TEXTS + 2, TEXTS, TEXTS, TEXTS)
    for cluster in listed.largest:
        number = cluster.urls[0].split("/")[3]
        assert (cluster.pages, cluster.contents) == (3, 2)
        assert sorted(cluster.urls) == [site.url(f"/{number}{end}") for end in ("", "/copy", "/edited")]
        assert 0 < cluster.furthest <= 5
    assert find_duplicates(out, within=0).near == 0
    told = json.loads(weft("duplicates", out, "--json", "--most", "2"))
    assert (told["near"], len(told["largest"]), told["share"]) == (TEXTS, 2, 2 * TEXTS / listed.pages)
    assert f"{TEXTS} exact duplicates" in weft("duplicates", out)


def test_known__contents_are_revisits_that_refer_to_the_earlier_crawl(tmp_path: Path) -> None:
    """What is new is stored; `show` finds the rest in the earlier crawl, audit and explain say what they can."""
    pages, one, two = texts(), tmp_path / "one", tmp_path / "two"
    with small_site(pages) as site:
        crawled([site], one)
        pages["/0"] = b"<p>another page by now"
        crawled([site], two, known=[str(one)])
        old = dict(rows(one, "digest, epoch_us(fetched_at)", "duplicate_of = 0 and kind <> 'robots'"))
        files = CrawlFiles(two)
        new = [row for batch in files.batches("pages") for row in batch.to_pylist() if row["kind"] != "robots"]
        assert len(new) == 3 * TEXTS + 2
        for row in new:
            record, path = files.record(row), row["url"].removeprefix(site.url("")) or "/"
            assert files.content(row).body == pages[path]
            if path == "/0":
                assert (row["duplicate_in"], row["duplicate_of"]) == (None, 0)
                continue
            assert (row["duplicate_in"], record.warc["WARC-Type"], record.body) == (str(one), "revisit", b"")
            assert record.warc["WARC-Refers-To-Date"] == warc_date(old[row["digest"]] / 1e6)
            assert record.warc["WARC-Profile"].endswith("/identical-payload-digest")
        assert audit_crawl(two).ok
        assert weft("show", two, site.url("/1")).encode() == pages["/1"]
        assert str(one) in weft("explain", two, site.url("/1"))
        assert "nothing is damaged" in weft("repair", two, "--check")


def test_known__contents_of_a_site_that_moved_do_not_count_as_its_copies(tmp_path: Path) -> None:
    """Else a site that was crawled last year under another name would be left alone after some pages."""
    with sites(texts(), texts()) as [old, new]:
        crawled([old], tmp_path / "one")
        summary = crawled([new], tmp_path / "two", known=[str(tmp_path / "one")], max_site_duplicates=1)
    assert summary.refused.get("site-duplicates", 0) == 0
    assert len(rows(tmp_path / "two", "url", "final and kind <> 'robots' and status = 200")) == 3 * TEXTS + 2


def test_known__that_is_not_there_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """With its name."""
    out = tmp_path / "crawl"
    said = weft("crawl", "http://127.0.0.1:9/", "--out", out, "--known", tmp_path / "none", code=2)
    assert str(tmp_path / "none") in said
    assert not out.exists()


def test_duphosts__are_found_listed_and_left_out_by_the_next_crawl(tmp_path: Path) -> None:
    """Nobody asks the replica for anything any more, all pages of the original are there, and explain knows why."""
    first, second, listed = tmp_path / "one", tmp_path / "two", tmp_path / "duphosts.txt"
    with sites(texts(), texts(), {"/": links("/x"), "/x": b"something else"}) as [one, other, third]:
        crawled([one, other, third], first)
        said = weft("duphosts", first, "--to", listed)
        assert "1 replicas, by dups80" in said
        replica, original = listed.read_text(encoding="utf-8").splitlines()[1].split()[:2]
        copy = next(site for site in (one, other) if f":{site.port}" in replica)
        kept = next(site for site in (one, other) if f":{site.port}" in original)
        copy.asked.clear()
        summary = crawled([copy, third], second, duphosts=str(listed))
        assert not copy.asked
        assert summary.refused["duphost"] >= 1
        found = {url for (url,) in rows(second, "url", "final and kind <> 'robots' and status = 200")}
        assert found == {kept.url(path) for path in kept.pages} | {third.url(path) for path in third.pages}
        told = weft("explain", second, copy.url("/1"))
        assert "duphost" in told
        assert kept.url("/1") in told
