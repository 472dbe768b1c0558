"""A crawl is managed while it runs, and before it goes on: what is said is in force within seconds, by the servers'
word.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.commands import ending, weft
from tests.crawling import make_web, rows
from tests.patience import PATIENCE
from tests.siege import Siege, wait_until

from weft.manage import is_running
from weft.testbed.bed import Bed, serving
from weft.testbed.log import Entry
from weft.testbed.options import PLAIN
from weft.urls import host_of, site_of

GRACE = 1.5  # seconds without a request that show that nobody asks any more


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web that lasts: three sites to a domain, two to an address."""
    options = replace(PLAIN, sites_per_domain=3, sites_per_address=2)
    with serving(make_web(options, sites=36, pages=9000, largest=400)) as bed:
        yield bed


def status(out: Path) -> dict[str, Any]:
    """How a crawl stands."""
    found: dict[str, Any] = json.loads(weft("status", str(out), "--json"))
    return found


def command(bed: Bed, out: Path, *options: str, seeds: list[str] | None = None) -> list[str]:
    """The command that crawls with two workers: the whole web, or the sites of some seeds."""
    words = [sys.executable, "-m", "weft", "crawl", *(seeds or bed.seeds()), "--out", str(out), "--workers", "2"]
    words += ["--dns", bed.dns, "--allow-address", "127.0.0.0/8", "--scope", "site" if seeds else "all"]
    return [*words, "--max-depth", "1000", "--max-depth-dynamic", "1000", *options]


@contextmanager
def running(
    bed: Bed, out: Path, speed: str, *options: str, pages: int = 20, seeds: list[str] | None = None
) -> Iterator[Siege]:
    """A crawl that has fetched some pages, and goes on for as long as the test needs it."""
    since = time.time()
    words = command(bed, out, "--wait", "0.1", "--per-visit", "5", "--speed", speed, *options, seeds=seeds)
    siege = Siege(words, out.with_suffix(".log"))
    try:
        wait_until(lambda: len(requests(bed, since)) >= pages or siege.over, "the crawl does not begin")
        assert not siege.over, said(out)
        yield siege
    finally:
        siege.close()


def said(out: Path) -> str:
    """What the crawl printed."""
    return out.with_suffix(".log").read_text(encoding="utf-8", errors="replace")


def requests(
    bed: Bed, since: float, until: float = float("inf"), keep: Callable[[Entry], bool] = lambda _entry: True
) -> list[Entry]:
    """What the servers were asked for in some span of time."""
    return [
        entry for entry in bed.log() if entry.event == "request" and since <= entry.first_byte < until and keep(entry)
    ]


def last_of(bed: Bed, keep: Callable[[Entry], bool] = lambda _entry: True) -> float:
    """When the servers were asked for something of this kind last."""
    return max((entry.first_byte for entry in requests(bed, 0.0, keep=keep)), default=0.0)


def wait_for(moment: float) -> None:
    """Wait until a moment is over."""
    wait_until(lambda: time.time() > moment, "time stands still", within=moment - time.time() + 5)


def committed(out: Path) -> list[int]:
    """How long the logs of the workers are."""
    return [path.stat().st_size for path in sorted(out.glob("workers/*/frontier.log"))]


def test_lease__that_is_not_renewed_ends_the_visits_until_it_is(bed: Bed, tmp_path: Path) -> None:
    """Workers that cannot reach the global frontier go on for half of `hung_after` and commit, then wait for it; who
    keeps it from them is named.
    """
    out = tmp_path / "crawl"
    with running(bed, out, "150 pages/s", "--hung-after", "12") as siege:
        shared = sqlite3.connect(out / "frontier.db", isolation_level=None)
        shared.execute("begin immediate")
        held = time.time()
        wait_for(held + 1)
        before = committed(out)
        wait_for(held + 9.5)
        assert all(later > earlier + 1000 for earlier, later in zip(before, committed(out), strict=True)), "all commit"
        shared.execute("rollback")
        released = time.time()
        shared.close()
        assert requests(bed, held + 1, held + 4), "it goes on for a while"
        assert requests(bed, held + 8, held + 9.5) == []
        wait_until(lambda: len(requests(bed, released)) > 20, "the crawl does not go on")
        assert not siege.over
    assert "no sign of life" not in said(out)
    assert f"locked by process {os.getpid()}" in said(out)


def test_pause__stops_the_fetching_and_resume_goes_on(bed: Bed, tmp_path: Path) -> None:
    """Nothing is fetched while a crawl is paused, it does not end, and goes on where it stood."""
    out = tmp_path / "crawl"
    with running(bed, out, "150 pages/s") as siege:
        assert "within seconds" in weft("pause", str(out))
        wait_until(lambda: time.time() - last_of(bed) > GRACE, "the crawl does not pause")
        quiet = time.time()
        wait_for(quiet + GRACE)
        assert requests(bed, quiet) == []
        found = status(out)
        assert found["running"]
        assert found["paused"]
        assert found["pending"] > 0
        assert found["over"] == ""
        assert [worker["alive"] for worker in found["workers"]] == [True, True]
        assert "running, paused" in weft("status", str(out))
        resumed = time.time()
        weft("resume", str(out))
        wait_until(lambda: len(requests(bed, resumed)) > 20, "the crawl does not go on")
        assert not siege.over


def test_blacklist__is_in_force_within_seconds(bed: Bed, tmp_path: Path) -> None:
    """A site, a domain, a range of addresses and a URL prefix are left alone, also those checked out already."""
    out = tmp_path / "crawl"
    web = bed.web
    sites = {name: web.bases[site].decode().partition("://")[2] for name, site in (("site", 0), ("prefix", 12))}
    domain, address = web.names.domain(3), web.names.address(7)
    # The folder of the page of a site that has the most pages below it.
    first, last = web.graph.first_page[12:14]
    folders = [web.url(page).rpartition("/")[0] + "/" for page in range(first + 1, last)]
    prefix = max((folder for folder in folders if folder.count("/") > 3), key=folders.count)

    def refused(entry: Entry) -> bool:
        return entry.path != "/robots.txt" and (
            entry.site == sites["site"]
            or host_of(entry.site).endswith(domain)
            or entry.address == address
            or f"http://{entry.site}{entry.path}".startswith(prefix)
        )

    with running(bed, out, "150 pages/s", pages=300):
        assert requests(bed, 0.0, keep=refused), "they are being crawled"
        answer = weft("blacklist", str(out), sites["site"], f"*.{domain}", f"{address}/32", f"{prefix}*", "--json")
        assert json.loads(answer)["rules"] == [sites["site"], f"*.{domain}", f"{address}/32", f"{prefix}*"]
        wait_until(lambda: time.time() - last_of(bed, refused) > GRACE, "they are crawled on")
        moment = time.time()
        wait_until(lambda: len(requests(bed, moment)) > 100, "nothing else goes on")
        assert [entry for entry in requests(bed, moment) if refused(entry)] == []
        assert status(out)["blacklist"] == 4
        # A page at the address comes to its turn, and is refused there.
        wait_until(lambda: "blacklisted" in (out / "log" / "crawl.log").read_text(encoding="utf-8"), "none is refused")
        weft("stop", str(out), "--wait", str(PATIENCE))
    fetched = {url for (url,) in rows(out, "url", "status = 200")}
    named = {
        "a site": [url for url in web.urls() if site_of(url) == sites["site"]],
        "a domain": [url for url in web.urls() if host_of(site_of(url)).endswith(domain)],
        "a prefix": [url for url in web.urls() if url.startswith(prefix)],
    }
    for what, urls in named.items():
        left = next((url for url in urls if url not in fetched), None)
        assert left is not None, f"everything of {what} had been crawled"
        assert "blacklisted" in weft("explain", str(out), left), (what, left)
    by_address = rows(out, "url", "reason = 'blacklisted'")
    assert by_address
    assert "blacklisted" in weft("explain", str(out), by_address[0][0])


def test_add__brings_a_seed_in_and_stop_ends_a_run(bed: Bed, tmp_path: Path) -> None:
    """A seed that is added is crawled with its site; a crawl that is stopped ends well, with everything sealed."""
    out = tmp_path / "crawl"
    seeds, added = bed.seeds()[:6], bed.seeds()[20]
    began = time.time()
    with running(bed, out, "120 pages/s", seeds=seeds) as siege:
        answer = weft("add", str(out), added, "mailto:nobody@example.org")
        assert "1 seed added" in answer
        here = site_of(added)
        wait_until(
            lambda: len(requests(bed, began, keep=lambda entry: entry.site == here)) > 3,
            "the seed is not crawled",
        )
        found = status(out)
        assert found["running"]
        assert found["pages"] > 0
        assert found["known"] >= found["pages"]
        assert found["pages_rate"] > 0
        assert found["pages_target"] == 120
        assert found["lists"]["being_crawled"] + found["lists"]["crawled"] > 0
        assert all(found["stages"][stage]["mean"] > 0 for stage in ("download", "parse", "store", "courtesy"))
        assert "Stopped" in weft("stop", str(out), "--wait", str(PATIENCE))
        assert siege.finish() == 0, said(out)
    assert not list(out.rglob("*.open"))
    assert not list(out.rglob("*.new"))
    assert "\nStopped.\n" in said(out)
    found = status(out)
    assert not found["running"]
    assert found["over"] == "stopped"
    assert found["pages"] == len(rows(out, "url", "final and kind <> 'robots'"))
    assert found["pages_rate"] == 0
    assert not any(worker["alive"] for worker in found["workers"])
    assert "not running" in weft("status", str(out))
    assert "not running" in weft("stop", str(out))


def test_speed__changes_the_rate_of_a_running_crawl(bed: Bed, tmp_path: Path) -> None:
    """It becomes faster when it is told to, and never faster than that, over all workers."""
    out = tmp_path / "crawl"
    with running(bed, out, "10 pages/s"):
        assert weft("speed", str(out)).strip() == "10 pages/s"
        assert "not a valid speed" in weft("speed", str(out), "fast", code=2)
        assert weft("speed", str(out)).strip() == "10 pages/s"
        weft("speed", str(out), "50 pages/s")
        begin = time.time() + 2.0
        wait_until(lambda: len(requests(bed, begin)) > 250, "it becomes no faster")
        fetched = requests(bed, begin, keep=lambda entry: entry.path != "/robots.txt")
        assert 10.5 < len(fetched) / (last_of(bed) - begin) < 60
        weft("speed", str(out), "none")
        found = json.loads(weft("speed", str(out), "--json"))
        assert found == {"speed": "none", "pages_target": None, "bytes_target": None, "running": True}


def test_not_running__what_is_said_holds_for_the_next_run(tmp_path: Path) -> None:
    """A crawl that was done goes on with a seed that is added, is paused if it was paused, and ends when all that is
    left is blacklisted.
    """
    out = tmp_path / "crawl"
    with serving(make_web(PLAIN, sites=8, pages=120)) as bed:
        first, second, third = sorted(bed.seeds(), key=lambda seed: -pages_of(bed, seed))[:3]
        words = command(bed, out, "--wait", "0", "--speed", "400 pages/s", seeds=[first])

        def run() -> int:
            return ending(*words[3:])[0]

        assert run() == 0
        assert status(out)["over"] == "done"
        assert set(crawled(out)) == {site_of(first)}
        assert "not running" in weft("add", str(out), second)
        assert run() == 0
        assert status(out)["over"] == "done"
        counts = crawled(out)
        assert set(counts) == {site_of(first), site_of(second)}
        assert counts[site_of(second)] > 1
        weft("add", str(out), third)
        assert "not running" in weft("pause", str(out))
        assert "not running" in weft("speed", str(out), "5 pages/s")
        before = len(requests(bed, 0.0))
        siege = Siege(words, tmp_path / "output.txt")
        try:
            wait_until(lambda: is_running(out) and alive(out) == 2, "the crawl does not begin")
            wait_for(time.time() + GRACE)
            assert len(requests(bed, 0.0)) == before
            assert not siege.over
            assert status(out)["pages_target"] == 5
            weft("blacklist", str(out), "*.test")
            weft("resume", str(out))
            assert siege.finish() == 0
        finally:
            siege.close()
        assert len(requests(bed, 0.0)) == before
        assert status(out)["over"] == "done"
        assert "blacklisted" in weft("explain", str(out), third)


def pages_of(bed: Bed, seed: str) -> int:
    """How many pages the site of a seed has."""
    site, _ = bed.web.locate(seed)
    first, last = bed.web.graph.first_page[site : site + 2]
    return int(last - first)


def crawled(out: Path) -> dict[str, int]:
    """Pages by site."""
    return dict(rows(out, "site, count(*)", "status = 200 and kind <> 'robots' group by site"))


def alive(out: Path) -> int:
    """How many workers there are."""
    return sum(worker["alive"] and worker["heard"] < 2 for worker in status(out)["workers"])


VERBS = ("status", "pause", "resume", "speed", "blacklist", "add", "stop")


@pytest.mark.parametrize("verb", VERBS)
def test_misuse__where_there_is_no_crawl(verb: str, tmp_path: Path) -> None:
    """Every verb says so, and writes nothing."""
    code, out, err = ending(verb, tmp_path, *(["http://example.org/"] if verb == "add" else []))
    assert code == 2
    assert err.startswith(f"weft: there is no crawl here ({tmp_path}): ")
    assert out == ""
    assert not list(tmp_path.iterdir())


def test_misuse__changes_nothing(tmp_path: Path) -> None:
    """A rule, a seed or a file that cannot be used is refused with what to do, all or nothing."""
    out = tmp_path / "crawl"
    with serving(make_web(PLAIN, sites=3, pages=20)) as bed:
        assert ending(*command(bed, out, "--wait", "0")[3:])[0] == 0
    crawl = str(out)
    rules = tmp_path / "rules.txt"
    rules.write_text("# what is left alone\n*.example.org\n\nexample.com/path\n", encoding="utf-8")
    for wrong in (["good.example", "not a rule"], ["--remove", "unknown.example"], ["--from", str(rules)]):
        message = weft("blacklist", crawl, *wrong, code=2)
        assert any(word in message for word in ("is no rule", "is not on the blacklist"))
        assert ": " in message
    assert f"{rules}, line 4" in message
    assert "cannot read the rules" in weft("blacklist", crawl, "--from", str(tmp_path), code=2)
    assert weft("blacklist", crawl) == ""
    rules.write_text("# what is left alone\n*.Example.org\n192.0.2.7\n*.example.org\n", encoding="utf-8")
    assert "2 rules added, 0 rules removed, 2 in all" in weft("blacklist", crawl, "--from", str(rules))
    assert weft("blacklist", crawl).split() == ["*.example.org", "192.0.2.7/32"]
    weft("blacklist", crawl, "a.example", "--remove", "192.0.2.7", "*.example.org")
    assert weft("blacklist", crawl).split() == ["a.example"]
    assert "no seed that can be used" in weft("add", crawl, "mailto:nobody@example.org", code=2)
    assert "--strict" in weft("add", crawl, "http://a.example/", "mailto:x@example.org", "--strict", code=2)
    assert "there is no seed" in weft("add", crawl, code=2)
    assert status(out)["lists"]["to_crawl"] == 0
    assert "not a valid speed" in weft("speed", crawl, "", code=2)
    assert weft("speed", crawl).strip() == "none"
