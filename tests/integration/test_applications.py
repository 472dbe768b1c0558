"""Applications that workers make by name: they hear of every end of what they asked for, at whichever worker; what
cannot be caught is told by name; their state is that of the last commit.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.applications import Counting, heard
from tests.commands import ending
from tests.crawling import make_web, rows, settings_for
from tests.nursery import quick_workers
from tests.patience import PATIENCE
from tests.siege import Siege, command_for, wait_until

import weft
from weft.app import Summary, run
from weft.applications import Focused
from weft.config import APPLICATION
from weft.directory import Plan
from weft.errors import UsageError
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN, Options

ROUGH = Options(sites_per_address=1, hang_s=60.0, retry_after_s=1)


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web with every kind of failure, whose sites have addresses of their own."""
    with serving(make_web(ROUGH, sites=12, pages=150, largest=30)) as bed:
        yield bed


@pytest.fixture(scope="module")
def plain() -> Iterator[Bed]:
    """A web without failures."""
    with serving(make_web(replace(PLAIN, sites_per_address=1), sites=12, pages=150, largest=30)) as bed:
        yield bed


def crawled(bed: Bed, out: Path, name: str, *options: str, workers: int = 2, **changes: Any) -> Summary:
    """A crawl by workers in processes of their own, with an application of `tests.applications`."""
    usual = {"retry_pauses": [0.05], "timeout": 1.0, "sitemaps": False, "commit_every": 0.2}
    named = {"application": f"tests.applications:{name}", "application_options": list(options)}
    settings = settings_for(bed, workers=workers, **APPLICATION | usual | named | changes)
    with quick_workers():
        return run(Plan(seeds=bed.seeds(), out=out, settings=settings, watched=True))


@pytest.mark.parametrize("apart", [False, True], ids=["in the worker", "apart"])
@pytest.mark.parametrize("workers", [1, 2])
def test_application__hears_of_every_end_of_what_it_asked_for(
    bed: Bed, tmp_path: Path, workers: int, apart: bool
) -> None:
    """Fetched, redirected, failed, refused: each once, with what the request came with, also at another worker."""
    path = tmp_path / "heard"
    summary = crawled(bed, tmp_path / "crawl", "Noting", f"path={path}", workers=workers, application_apart=apart)
    assert (summary.why, summary.pending, summary.counts.application_faults) == ("done", 0, 0)
    asked = {line["url"] for line in heard(path, "asked")}
    ends = heard(path, "visited", "failed", "redirected")
    told = Counter(line["url"] for line in ends)
    assert not asked - set(told), "these were asked for, and nobody heard of them again"
    assert max(told.values()) == 1
    reasons = {line["reason"] for line in ends if line["what"] == "failed"}
    assert {"status-4xx", "robots"} <= reasons
    assert reasons & {"dns-not-found", "dns-failed"}
    seeds = set(bed.seeds())
    led = {line["target"] for line in ends if line["what"] == "redirected"} - asked
    lost = [line["url"] for line in ends if line["url"] not in seeds | led and "from" not in (line["meta"] or {})]
    assert not lost, "these came without their meta"
    hosts = len({line["pid"] for line in ends})
    assert hosts == workers
    assert [len(heard(path, what)) for what in ("begin", "end")] == [workers, workers]


@pytest.mark.restarts
@pytest.mark.faults
@pytest.mark.parametrize(
    ("how", "apart"),
    [("exit", False), ("end", False), ("hang", False), ("exit", True), ("end", True), ("hang", True)],
)
def test_application__that_ends_its_process_or_hangs_is_told_by_name(
    plain: Bed, tmp_path: Path, how: str, apart: bool
) -> None:
    """With the method and the page. It costs the worker its last commit, twice; then the page is concluded without it,
    and every other page is there.
    """
    path, out = tmp_path / "heard", tmp_path / "crawl"
    victim = plain.web.url(7)
    path.with_suffix(".harm").write_text(f"{victim} {how}", encoding="utf-8")
    summary = crawled(
        plain,
        out,
        "Ending",
        f"path={path}",
        workers=1,
        application_apart=apart,
        hung_after=3.0,
        application_seconds=1.5,
    )
    assert (summary.why, summary.pending) == ("done", 0)
    assert rows(out, "count(distinct url)", "kind <> 'robots' and final and volume is not null") == [(150,)]
    assert rows(out, "count(*)", f"url = '{victim}' and final") == [(1,)]
    assert summary.counts.application_faults == 1
    said = (out / "log" / "messages.log").read_text(encoding="utf-8")
    told = f"tests.applications:Ending.visited({victim})"
    if how == "exit":  # is an exception like any other
        assert (summary.restarted, len(heard(path, "harm"))) == (0, 1)
        assert f"failed on {victim}: SystemExit: 3" in said
    else:
        assert (summary.restarted, len(heard(path, "harm"))) == (2, 2)
        assert all(told in restart.cause for restart in summary.restarts)
        assert told in said


@pytest.mark.restarts
@pytest.mark.parametrize("apart", [False, True], ids=["in the worker", "apart"])
def test_state__is_that_of_the_last_commit(bed: Bed, tmp_path: Path, apart: bool) -> None:
    """However often the crawl is killed: in the end each page was counted once, as if nothing had happened."""
    out, path = tmp_path / "crawl", tmp_path / "counts"
    options = ["--application", "tests.applications:Counting", "--application-options", f"path={path}"]
    options += ["--workers", "1", "--commit-every", "0.1", "--timeout", "1", "--retry-pauses", "0.05", "--wait", "0"]
    options += ["--no-sitemaps", "--speed", "60 pages/s", *(["--application-apart"] if apart else [])]
    log = out / "log" / "crawl.log"
    for kill in range(4):
        siege = Siege(command_for(bed, out, *options), tmp_path / "output.txt")
        before = log.read_bytes().count(b"\n") if log.exists() else 0
        enough = before + 25
        wait_until(lambda: siege.over or (log.exists() and log.read_bytes().count(b"\n") >= enough), "no pages")  # noqa: B023
        if kill < 3:
            siege.process.send_signal(signal.SIGKILL)
        siege.process.wait(PATIENCE)
        siege.close()
    counts = Counter(Counting().told | eval(path.read_text(encoding="utf-8").splitlines()[-1]))  # noqa: S307
    assert set(counts.values()) == {1}
    found = rows(out, "url, redirect, detected_type", "final and kind <> 'robots'")
    redirected = {url for url, redirect, _ in found if redirect is not None}
    read = {url for url, redirect, kind in found if redirect is None and kind is not None}
    assert {what.partition(" ")[2] for what in counts if what.startswith("redirected")} == redirected
    assert {what.partition(" ")[2] for what in counts if what.startswith("visited")} == read


def test_application__that_cannot_be_made_is_refused_first(plain: Bed, tmp_path: Path) -> None:
    """Before anything is written, and with its name."""
    for name, said in (
        ("tests.applications:Missing", "has no attribute 'Missing'"),
        ("tests.missing:Any", "No module named"),
        ("tests.applications:Noting", "missing 1 required"),
        ("tests.applications:heard", "cannot be made"),
        ("nothing", "module:Class"),
    ):
        with pytest.raises(UsageError, match=said):
            weft.crawl(plain.seeds(), tmp_path / "out", application=name)
    assert not (tmp_path / "out").exists()
    code, _, err = ending("crawl", plain.seeds()[0], "--out", str(tmp_path / "out"), "--application", "a:B")
    assert code == 2
    assert "a:B" in err


def quick(bed: Bed, **changes: Any) -> Any:
    """Settings that reach the bed and do not wait."""
    common = {"dns": [bed.dns], "allow_address": ["127.0.0.0/8"], "wait": 0.0, "per_visit": 10, "sitemaps": False}
    return {**common, "commit_every": 0.2, **changes}


def test_recrawl__visits_every_page_again_after_the_interval(plain: Bed, tmp_path: Path) -> None:
    """As often as it is told to, and not before the time; across a stop, and with two workers."""
    out = tmp_path / "crawl"
    options = ["interval=2 s", "rounds=3"]
    settings = quick(plain, application_options=options, workers=2)
    with quick_workers():
        first = weft.crawl(plain.seeds(), out, application="weft.applications:Recrawl", max_pages=170, **settings)
        assert (first.why, first.pending > 0) == ("page limit", True)
        last = weft.crawl(plain.seeds(), out, application="weft.applications:Recrawl", **settings)
    assert (last.why, last.pending) == ("done", 0)
    times: dict[str, list[Any]] = {}
    for url, at in rows(out, "url, epoch(fetched_at)", "kind <> 'robots' and final order by fetched_at"):
        times.setdefault(url, []).append(at)
    assert len(times) == 150
    assert {len(each) for each in times.values()} == {3}
    assert min(later - before for each in times.values() for before, later in pairwise(each)) >= 2.0


def test_focused__follows_the_links_of_pages_that_match_and_keeps_no_others(plain: Bed, tmp_path: Path) -> None:
    """What is reached is what a search over the web reaches by the same rule; the others have their row, and no
    record.
    """
    web = plain.web
    number_of = {web.url(page): page for page in range(web.graph.pages)}

    def matches(page: int) -> bool:
        return sum(web.body(page)) % 3 > 0

    reached, ahead = set(), list(plain.seeds())
    while ahead:
        url = ahead.pop()
        if url not in reached:
            reached.add(url)
            page = number_of[url]
            if matches(page):
                ahead += [web.url(int(target)) for target in web.graph.links_of(page)]
    application = Focused(lambda page: sum(page.body) % 3 > 0)
    weft.crawl(plain.seeds(), tmp_path / "crawl", application=application, **quick(plain))
    found = rows(tmp_path / "crawl", "url, volume is not null, dropped", "kind <> 'robots' and final")
    assert {url for url, *_ in found} == reached
    assert len(reached) < 150
    for url, kept, dropped in found:
        assert (kept, dropped) == ((True, None) if matches(number_of[url]) else (False, "application"))


class Some(weft.Application):
    """Wants two thirds of all pages, by the sums of their URLs; notes what it was given."""

    def __init__(self, but: int) -> None:
        self._but = but
        self.given: list[str] = []

    def visited(self, page: weft.FetchedPage) -> list[str]:
        """Follow these links."""
        self.given.append(page.url)
        return [link for link in page.links if sum(link.encode()) % 3 != self._but]


def test_together__knows_after_a_resume_who_asked_for_what(plain: Bed, tmp_path: Path) -> None:
    """In a second run, by other objects, nobody is given what only the other asked for."""
    runs = [Some(0), Some(1)], [Some(0), Some(1)]
    out, settings = tmp_path / "crawl", quick(plain, speed="100 pages/s")
    seeds = plain.seeds()
    first = weft.crawl(seeds, out, application=weft.Together(*runs[0]), max_pages=40, **settings)
    assert first.pending > 10
    weft.crawl(seeds, out, application=weft.Together(*runs[1]), **settings)
    for but in (0, 1):
        assert len(runs[1][but].given) > 10
        given = [url for each in runs for url in each[but].given]
        assert all(sum(url.encode()) % 3 != but for url in given if url not in seeds)
        assert len(given) == len(set(given))


def test_application__sees_what_stages_found_out(plain: Bed, tmp_path: Path) -> None:
    """By the names of their columns, also in a process to itself."""
    path = tmp_path / "heard"
    crawled(
        plain,
        tmp_path / "crawl",
        "Looking",
        f"path={path}",
        workers=1,
        application_apart=True,
        stage=["tests.stages:WORDS"],
    )
    seen = {line["url"]: line["words"] for line in heard(path, "visited")}
    assert len(seen) == 150
    assert seen == dict(rows(tmp_path / "crawl", "url, words", "words is not null"))
