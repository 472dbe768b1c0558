"""A whole crawl against the testbed: what comes out is what the web holds."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator
from tests.crawling import crawl, digests_of, make_web, rows, settings_for
from tests.siege import Siege, wait_until
from warcio.checker import Checker

from weft.app import run
from weft.directory import Plan
from weft.engine.worker import Worker
from weft.frontier.local.commits import Commits
from weft.model import Reason
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN, Options
from weft.testbed.serve import ServerSettings
from weft.testbed.truth import expected

ONE_CRAWL = pytest.mark.xdist_group("full crawl")  # it is made once
FULL = Options(hang_s=2.5, retry_after_s=1, crawl_delay_s=0.05, sitemaps=0.0)


@pytest.fixture(scope="module")
def full() -> Iterator[Bed]:
    """A web with everything that goes wrong."""
    with serving(make_web(FULL, sites=60, pages=1500, largest=80)) as bed:
        yield bed


@pytest.fixture(scope="module")
def plain() -> Iterator[Bed]:
    """A web that equals its graph."""
    with serving(make_web(PLAIN, sites=50, pages=2000)) as bed:
        yield bed


@pytest.fixture(scope="module")
def full_crawl(full: Bed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of the whole of it."""
    out = tmp_path_factory.mktemp("crawl") / "full"
    summary = crawl(full, out)
    assert summary.why == "done"
    assert summary.counts.faults == 0
    return out


@ONE_CRAWL
def test_crawl__sees_exactly_what_the_web_holds(full: Bed, full_crawl: Path) -> None:
    """Every URL that a crawler should come to has its status, and nothing else was asked for."""
    truth = {found.url: found for found in expected(full.web)}
    final = rows(full_crawl, "url, coalesce(status, 0), reason, kind", "final and kind <> 'robots'")
    got = {url: (status, reason) for url, status, reason, _ in final}
    assert len(got) == len(final), "no URL has two final rows"
    asked = {url for url, found in truth.items() if found.kind not in ("disallowed", "robots-error")}
    assert asked - got.keys() == set()
    assert got.keys() - asked == set()
    for url in asked:
        kind, status = truth[url].kind, truth[url].status
        if kind != "malformed":
            assert got[url][0] == status, (url, kind)
        failed = got[url][1] is not None
        # An endless answer is cut at the time limit, and kept.
        assert failed == (kind not in ("page", "duplicate", "redirect", "soft-404", "endless")), (url, kind)


@ONE_CRAWL
def test_crawl__every_failure_has_a_reason_from_the_list(full_crawl: Path) -> None:
    """Each way in which the testbed fails comes out as the reason that fits it."""
    known = {reason.value for reason in Reason}
    reasons = Counter(reason for (reason,) in rows(full_crawl, "reason", "reason is not null"))
    assert set(reasons) <= known
    assert {"status-4xx", "status-5xx", "no-answer", "reset", "timeout"} <= set(reasons)


@ONE_CRAWL
def test_crawl__retries_twice_what_may_heal_and_only_that(full_crawl: Path) -> None:
    """A page that fails for a passing reason is tried three times in all; a 404 once."""
    tries = rows(full_crawl, "url, reason, max(attempt), count(*)", "kind <> 'robots' group by url, reason")
    for url, reason, attempt, count in tries:
        if reason in {known.value for known in Reason if known.retry}:
            assert (attempt, count) == (3, 3), (url, reason)
        elif reason is not None:
            assert (attempt, count) == (1, 1), (url, reason)


@ONE_CRAWL
def test_archive__is_accepted_by_warcio_and_fastwarc(full_crawl: Path) -> None:
    """Every record has right digests, and both readers find the same records as the columns say."""
    volumes = sorted((full_crawl / "volumes").glob("*.warc.gz"))
    left = {path.name.partition(".")[2] for path in (full_crawl / "volumes").iterdir()}
    assert left == {"warc.gz", "cdxj"}
    for path in volumes:
        checker = Checker(_CheckArguments([str(path)]))
        checker.process_all()
        assert checker.exit_value == 0
    kinds: Counter[str] = Counter()
    for path in volumes:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False, verify_digests=True):
                kinds[str(record.record_type).rpartition(".")[2]] += 1
    stored = rows(full_crawl, "count(*), count_if(duplicate_of <> 0)", "volume is not null")[0]
    assert kinds["response"] + kinds["revisit"] == kinds["request"] == stored[0]
    assert kinds["revisit"] == stored[1] > 0


class _CheckArguments:
    """What `warcio check` takes from its command line."""

    def __init__(self, inputs: list[str]) -> None:
        self.inputs = inputs
        self.verbose = False


@ONE_CRAWL
def test_columns__answer_pages_per_status_per_site(full_crawl: Path) -> None:
    """DuckDB reads the columns as they are."""
    table = rows(full_crawl, "site, status, count(*)", "final group by all")
    assert sum(count for *_, count in table) == rows(full_crawl, "count(*)", "final")[0][0]


def test_columns__links_and_urls_fit_together(plain: Bed, tmp_path: Path) -> None:
    """On a web that equals its graph, the links table is the graph."""
    out = tmp_path / "plain"
    crawl(plain, out)
    web = plain.web
    texts = dict(rows(out, "id, url", table="urls"))
    found: dict[str, list[str]] = {}
    for source, target in rows(out, "source, target", table="links"):
        found.setdefault(texts[source], []).append(texts[target])
    graph = web.graph
    for page in range(graph.pages):
        assert sorted(found.get(web.url(page), [])) == sorted(web.url(int(t)) for t in graph.links_of(page))


def test_content__equals_what_was_served(plain: Bed, tmp_path: Path) -> None:
    """The digest of every page is that of the bytes the web is made of."""
    out = tmp_path / "plain"
    crawl(plain, out)
    web = plain.web
    assert dict(rows(out, "url, digest", "kind <> 'robots'")) == digests_of(web)


def test_codings__all_four_are_read(full: Bed, tmp_path: Path) -> None:
    """A server that is told so sends gzip, deflate, br and zstd, and the links of such pages are followed as well."""
    crawl(full, tmp_path / "four", accept_encoding="gzip, deflate, br, zstd")
    found = {url for (url,) in rows(tmp_path / "four", "url", "status = 200 and reason is null and kind <> 'robots'")}
    assert found >= {found.url for found in expected(full.web) if found.kind in ("page", "duplicate")}


def test_sitemaps__lead_to_pages_that_nothing_links_to(tmp_path: Path) -> None:
    """Sitemaps and sitemap indexes named in robots.txt are read, gzip too, unless that is switched off."""
    options = Options(sitemaps=1.0, robots_missing=0.0, failing=0.0, robots_errors=0.0, robots_delays=0.0)
    with serving(make_web(options, sites=12, pages=120)) as bed:
        crawl(bed, tmp_path / "with")
        maps = {url.rpartition("/")[2] for (url,) in rows(tmp_path / "with", "url", "kind = 'map' and status = 200")}
        assert {"sitemap.xml", "sitemap.xml.gz", "sitemap_index.xml"} <= maps
        orphans = rows(
            tmp_path / "with", "count(*)", "url like '%/orphan-%' and status = 200 and depth between 1 and 2"
        )
        assert orphans[0][0] >= 12
        crawl(bed, tmp_path / "without", sitemaps=False)
        assert rows(tmp_path / "without", "count(*)", "url like '%/orphan-%' or kind = 'map'") == [(0,)]


def test_tls__names_and_certificates(tmp_path: Path) -> None:
    """Good and bad certificates are accepted, with the verdict in a column; --verify-tls refuses the bad."""
    options = Options(https=1.0, bad_certificates=0.4, failing=0.0, robots_errors=0.0, robots_delays=0.0)
    with serving(make_web(options, sites=20, pages=120), ServerSettings(tls=True)) as bed:
        lenient, strict = tmp_path / "lenient", tmp_path / "strict"
        crawl(bed, lenient)
        verdicts = dict(rows(lenient, "tls, count(*)", "url like 'https:%' and final group by tls"))
        assert verdicts["ok"] > 0
        assert {"expired", "self-signed", "wrong-name"} & verdicts.keys()
        crawl(bed, strict, verify_tls=True)
        refused = rows(strict, "distinct tls", "reason = 'tls' and tls is not null")
        assert ("ok",) not in refused
        accepted = rows(strict, "distinct tls", "status = 200 and url like 'https:%'")
        assert accepted == [("ok",)]


def test_tls__many_visits_of_one_page_leave_no_descriptor_open(tmp_path: Path) -> None:
    """Libcurl says goodbye to a TLS server after the visit is over for us; the socket is closed all the same."""
    options = replace(PLAIN, https=1.0)
    with serving(make_web(options, sites=40, pages=600), ServerSettings(tls=True)) as bed:
        out = tmp_path / "crawl"
        before = len(list(Path("/proc/self/fd").iterdir()))
        most = 0

        def watch(_now: object) -> None:
            nonlocal most
            most = max(most, len(list(Path("/proc/self/fd").iterdir())))

        settings = settings_for(bed, per_visit=1, connections=20)
        summary = run(Plan(seeds=bed.seeds(), out=out, settings=settings), watch=watch)
        assert summary.why == "done"
        assert summary.counts.faults == 0
        assert dict(rows(out, "url, digest", "final and kind <> 'robots'")) == digests_of(bed.web)
    assert most < before + 20 + 60, "as many as there are connections, and the crawl's own files"


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


@pytest.mark.parametrize(
    "stops",
    [
        pytest.param((300, 600), id="twice"),
        pytest.param((20,) * 12, id="again and again", marks=[pytest.mark.soak, pytest.mark.timeout(900)]),
    ],
)
def test_resume__after_clean_stops_nothing_is_lost_and_nothing_twice(
    plain: Bed, tmp_path: Path, stops: tuple[int, ...]
) -> None:
    """Ctrl-C in the middle, the same command again: together they have every page once."""
    out, seeds = tmp_path / "crawl", tmp_path / "seeds.txt"
    seeds.write_text("\n".join(plain.seeds()), encoding="utf-8")
    command = [sys.executable, "-m", "weft", "crawl", "--seeds", str(seeds), "--out", str(out), "--scope", "all"]
    command += ["--dns", plain.dns, "--allow-address", "127.0.0.0/8", "--wait", "0.02", "--per-visit", "3"]
    # At this speed it lasts for seconds after the last stop, on a fast machine too.
    command += ["--max-depth", "1000", "--max-depth-dynamic", "1000", "--speed", "400 pages/s"]
    log, stopped = out / "log" / "crawl.log", 0
    for number, lines in enumerate((*stops, None)):
        output = tmp_path / f"output-{number}.txt"
        wanted = _lines(log) + (lines or 0)
        siege = Siege(command, output)
        if lines is not None:
            wait_until(lambda: siege.over or _lines(log) >= wanted, "the crawl stands still")  # noqa: B023
            siege.process.send_signal(signal.SIGINT)
        assert siege.finish() == 0, output.read_text(encoding="utf-8")
        stopped += "Stopped." in output.read_text(encoding="utf-8")
        assert not list(out.rglob("*.open")), "what is stopped is sealed"
    assert stopped == len(stops)
    digests = rows(out, "url, digest", "final and kind <> 'robots'")
    web = plain.web
    assert len(digests) == web.graph.pages
    assert dict(digests) == digests_of(web)


def test_commit__that_fails_ends_the_crawl(plain: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crawl that can no longer write down where it stands stops with the error, and does not crawl on."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no commit today")

    monkeypatch.setattr(Commits, "write", fail)
    with pytest.raises(RuntimeError, match="no commit today"):
        crawl(plain, tmp_path / "crawl", wait=30.0)


def test_commit__its_thread_lives_as_long_as_there_are_commits(
    plain: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that makes a checkpoint ends with the thread that started it: it must not end in the last commits."""
    there: list[bool] = []
    finish = Worker.finish

    def looking(worker: Worker) -> None:
        finish(worker)
        there.append(any(thread.name.startswith("commit") for thread in threading.enumerate()))

    monkeypatch.setattr(Worker, "finish", looking)
    assert crawl(plain, tmp_path / "crawl", max_pages=50).why == "page limit"
    assert there == [True]
    assert not any(thread.name.startswith("commit") for thread in threading.enumerate())


def test_limits__max_pages_is_exact(plain: Bed, tmp_path: Path) -> None:
    """A page limit is kept to the page, over two runs."""
    out = tmp_path / "crawl"
    for most in (100, 250):
        summary = crawl(plain, out, max_pages=most)
        assert summary.why == "page limit"
        assert summary.counts.pages == most
        assert len(rows(out, "url", "final and kind <> 'robots'")) == most


def test_ordering__larger_sites_first_takes_the_large_site_early(plain: Bed, tmp_path: Path) -> None:
    """With one connection, the largest site is well on its way when breadth-first has not left the home pages."""
    graph = plain.web.graph
    large = plain.web.authority(int((graph.first_page[1:] - graph.first_page[:-1]).argmax()), secure=False).decode()
    shares = {}
    for ordering in ("breadth-first", "larger-sites-first"):
        out = tmp_path / ordering
        crawl(plain, out, ordering=ordering, connections=1, per_visit=1, max_pages=400)
        shares[ordering] = rows(out, "count(*)", f"site = '{large}'")[0][0]
    assert shares["larger-sites-first"] > 2 * shares["breadth-first"]


def test_list__fetches_exactly_its_urls(plain: Bed, tmp_path: Path) -> None:
    """A list crawl asks for the pages on the list and for robots.txt, and for nothing else."""
    wanted = [plain.web.url(page) for page in range(0, 2000, 100)]
    crawl(plain, tmp_path / "list", wanted, scope="list")
    assert {url for (url,) in rows(tmp_path / "list", "url", "kind <> 'robots'")} == set(wanted)


def test_requisites__are_collected_with_their_pages(tmp_path: Path) -> None:
    """Images, style sheets and what they import, scripts; also from other sites, and only when asked for."""
    options = Options(requisites=True, failing=0.0, robots_errors=0.0, robots_delays=0.0, duplicates=0.0)
    with serving(make_web(options, sites=10, pages=60)) as bed:
        crawl(bed, tmp_path / "with", requisites=True)
        kinds = {kind for (kind,) in rows(tmp_path / "with", "distinct kind")}
        assert {"image", "style", "script", "part"} <= kinds
        assert rows(tmp_path / "with", "count(*)", "kind = 'image' and status <> 200")[0][0] == 0
        seed = rows(tmp_path / "with", "url", "kind <> 'robots' and status = 200 and links > 0 limit 1")[0][0]
        crawl(bed, tmp_path / "list", [seed], scope="list", requisites=True)
        found = rows(tmp_path / "list", "distinct kind", f"kind <> 'robots' and url <> '{seed}'")
        assert found, "the parts of a page on a list are as wanted as those of others"
        assert {kind for (kind,) in found} <= {"image", "style", "script", "part"}
        crawl(bed, tmp_path / "without")
        assert not {"image", "style", "script", "part"} & {k for (k,) in rows(tmp_path / "without", "distinct kind")}


def test_special_addresses__are_not_visited_by_a_crawl_of_public_seeds(plain: Bed, tmp_path: Path) -> None:
    """A name that leads to loopback is refused unless the range is allowed, and nothing reaches the server."""
    before = len(plain.log())
    settings = settings_for(plain, allow_address=[], contact="https://me.example/")
    run(Plan(seeds=plain.seeds()[:5], out=tmp_path / "crawl", settings=settings))
    assert {reason for (reason,) in rows(tmp_path / "crawl", "reason")} == {"dns-special"}
    assert len(plain.log()) == before


@ONE_CRAWL
def test_log__has_a_line_for_every_fetch(full_crawl: Path) -> None:
    """The log and the columns tell the same story."""
    lines = (full_crawl / "log" / "crawl.log").read_text(encoding="utf-8").splitlines()
    assert len(lines) == rows(full_crawl, "count(*)")[0][0]


@ONE_CRAWL
def test_memory__of_the_frontier_is_reserved_not_taken(full_crawl: Path) -> None:
    """The crawl's directory holds what was promised and nothing else."""
    names = {path.name for path in full_crawl.iterdir()}
    assert names == {
        "crawl.toml",
        "hash.key",
        "sealed.log",
        "seeds.txt",
        ".lock",
        "log",
        "pages",
        "links",
        "urls",
        "volumes",
        "contents",
        "workers",
        "frontier.db",
    }
    assert os.path.getsize(full_crawl / "workers" / "0" / "frontier.log") > 0  # noqa: PTH202
