"""Nothing lost, nothing twice, where things go wrong anyway: failures, redirects, retries, cookies, duplicates and
rules of robots.txt are under way when processes die.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from tests.crawling import crawl, make_web, rows
from tests.siege import Siege, assault, command_for, run_doomed

from weft.testbed.bed import Bed, serving
from weft.testbed.options import Options

# Whatever can happen happens within seconds.
ROUGH = Options(
    hang_s=60.0,
    retry_after_s=1,
    crawl_delay_s=0.05,
    sitemaps=0.0,
    duplicates=0.2,
    cookies=0.5,
    redirects=0.1,
    robots_rules=0.5,
)
pytestmark = pytest.mark.xdist_group("crash rough")  # the crawl that nobody disturbs is made once
TIMEOUT = 2.0  # of a page, which ends what hangs long before the server does
Outcomes = dict[str, tuple[int, str]]


def outcomes(out: Path) -> Outcomes:
    """What became of each page: its one final row."""
    final = rows(out, "url, coalesce(status, 0), coalesce(reason, '')", "final and kind <> 'robots'")
    found = {url: (status, reason) for url, status, reason in final}
    assert len(found) == len(final), "no URL has two final rows"
    return found


def check_archive(out: Path) -> None:
    """Every final answer has its one record, every revisit its response, every file is whole."""
    assert not list(out.rglob("*.open"))
    assert not list(out.rglob("*.new"))
    kept: list[str] = []
    originals: set[tuple[str, str]] = set()
    refers: set[tuple[str, str]] = set()
    for path in sorted((out / "volumes").glob("*.warc.gz")):
        kinds = WarcRecordType.response | WarcRecordType.revisit
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=kinds, parse_http=False, verify_digests=True):
                url, headers = record.headers["WARC-Target-URI"], record.headers
                if record.record_type == WarcRecordType.revisit:
                    refers.add((headers["WARC-Refers-To-Target-URI"], headers["WARC-Payload-Digest"]))
                else:
                    originals.add((url, headers["WARC-Payload-Digest"]))
                if not url.endswith("/robots.txt"):
                    kept.append(url)
    assert len(kept) == len(set(kept)), "a page has two records"
    stored = {url for (url,) in rows(out, "url", "final and kind <> 'robots' and volume is not null")}
    assert set(kept) == stored, "columns and volumes have the same pages"
    assert refers
    assert refers <= originals, "a revisit record refers to what is there"


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web with everything that goes wrong."""
    with serving(make_web(ROUGH, sites=25, pages=250, largest=30)) as bed:
        yield bed


@pytest.fixture(scope="module")
def expected(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """What becomes of the pages when nobody disturbs the crawl."""
    out = tmp_path_factory.mktemp("crawl") / "undisturbed"
    assert crawl(bed, out, timeout=TIMEOUT).why == "done"
    check_archive(out)
    found = outcomes(out)
    reasons = {reason for _, reason in found.values()}
    assert {"", "status-4xx", "status-5xx", "redirect"} & reasons
    return found


@pytest.mark.parametrize(
    ("point", "call", "when"),
    [
        pytest.param("weft.frontier.local.commits:Commits.write", 4, "after", id="record written, not handed over"),
        pytest.param("weft.store.store:Store.sync", 4, "after", id="outputs synced, no record"),
        pytest.param("weft.store.store:Store.mark", 6, "after", id="outputs written", marks=pytest.mark.soak),
        pytest.param("weft.frontier.durable.log:write_all", 6, "half", id="half of a record", marks=pytest.mark.soak),
    ],
)
def test_windows__of_a_rough_web(
    bed: Bed, expected: Outcomes, tmp_path: Path, point: str, call: int, when: str
) -> None:
    """A worker dies at exactly this point: every page comes to the end that it has in an undisturbed crawl."""
    out = tmp_path / "crawl"
    assert run_doomed(bed, out, [(point, call, when)], timeout=TIMEOUT) == 1, "the point was never reached"
    check_archive(out)
    assert outcomes(out) == expected


@pytest.mark.restarts
@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.soak)])
def test_kills__on_a_rough_web_cost_nothing(kills: int, bed: Bed, expected: Outcomes, tmp_path: Path) -> None:
    """Workers, the watchdog and all at once are killed: every page comes to the end that it has otherwise."""
    out, output = tmp_path / "crawl", tmp_path / "output.txt"
    options = ["--wait", "0", "--timeout", str(TIMEOUT), "--workers", "2", "--commit-every", "0.3"]
    options += ["--retry-pauses", "0.1", "--retry-pauses", "0.2", "--too-often-pause", "0.1"]
    began = len(bed.log())
    siege = Siege(command_for(bed, out, *options, "--speed", "60 pages/s"), output)
    try:
        assault(siege, bed, random.Random(5), kills=kills, pages=len(expected), since=began)
        assert siege.finish() == 0, output.read_text(encoding="utf-8", errors="replace")[-2000:]
    finally:
        siege.close()
    check_archive(out)
    assert outcomes(out) == expected
