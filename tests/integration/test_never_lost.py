"""A page is never lost, whatever user code does or fails inside: by the servers' log every answer has its row, every
final one its record, and the faults that are counted are those that were raised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from tests.applications import heard
from tests.crawling import make_web, rows, settings_for
from tests.nursery import quick_workers

import weft
from weft.app import Summary, run
from weft.directory import Plan
from weft.frontier.local.discovery import Discovery
from weft.testbed.bed import Bed, serving
from weft.testbed.options import Options

ROUGH = Options(sites_per_address=1, hang_s=60.0, retry_after_s=1)


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web with every kind of failure."""
    with serving(make_web(ROUGH, sites=12, pages=150, largest=30)) as bed:
        yield bed


class Raising:
    """An application that asks for every link, and raises in each of its methods, each third time or so."""

    def __init__(self, *, always: bool = False) -> None:
        self.raised: Counter[str] = Counter()
        self.heard: Counter[str] = Counter()
        self._always = always

    def _raise(self, where: str) -> None:
        self.heard[where] += 1
        if self._always or self.heard[where] % 3 == 0:
            self.raised[where] += 1
            raise RuntimeError(where)

    def visited(self, page: weft.FetchedPage) -> Iterator[str]:
        """Asks for some links before it raises: these count."""
        yield from page.links
        self._raise("visited")

    def failed(self, url: str, reason: str) -> None:
        """Raises."""
        del url, reason
        self._raise("failed")

    def redirected(self, url: str, target: str) -> None:
        """Raises."""
        del url, target
        self._raise("redirected")


def crawled(bed: Bed, out: Path, application: Any = None) -> Summary:
    """A crawl of everything, by one worker."""
    settings = settings_for(bed, workers=1, retry_pauses=[0.05], timeout=1.0, sitemaps=False)
    return run(Plan(seeds=bed.seeds(), out=out, settings=settings, application=application))


def check_nothing_lost(bed: Bed, out: Path, asked_before: int) -> None:
    """Every answer of the servers has its row, and every final one its record."""
    answered = Counter(
        (entry.site, entry.path) for entry in bed.log()[asked_before:] if entry.event == "request" and entry.status
    )
    found = rows(out, "url, status, final, reason, volume, attempt")
    by_url = Counter(
        (url.partition("//")[2].partition("/")[0], "/" + url.partition("//")[2].partition("/")[2])
        for url, status, *_ in found
        if status is not None
    )
    lost = {page: count - by_url[page] for page, count in answered.items() if by_url[page] < count}
    assert not lost, "these were answered, and have no row"
    records = 0
    for path in sorted((out / "volumes").glob("*.warc.gz")):
        with path.open("rb") as file:
            kinds = WarcRecordType.response | WarcRecordType.revisit
            records += sum(1 for _ in ArchiveIterator(file, record_types=kinds, parse_http=False))
    final = [row for row in found if row[2] and row[1] is not None and row[3] != "type"]
    assert all(volume is not None for *_, volume, _ in final)
    assert records == len(final)


@pytest.mark.faults
@pytest.mark.parametrize("always", [False, True], ids=["at times", "always"])
def test_application__that_raises_everywhere_costs_no_page(bed: Bed, tmp_path: Path, always: bool) -> None:
    """In `visited`, `failed` and `redirected`."""
    before, application = len(bed.log()), Raising(always=always)
    summary = crawled(bed, tmp_path / "crawl", application)
    check_nothing_lost(bed, tmp_path / "crawl", before)
    assert summary.counts.application_faults == sum(application.raised.values())
    assert set(application.raised) >= {"visited", "failed"}
    assert summary.counts.faults == 0


@pytest.mark.faults
@pytest.mark.parametrize(
    ("every", "workers", "apart"),
    [
        pytest.param(1, 1, False, id="always, by one in the worker"),
        pytest.param(1, 2, True, id="always, by two apart"),
        pytest.param(3, 1, True, id="at times, by one apart"),
        pytest.param(3, 2, False, id="at times, by two in the worker"),
        pytest.param(1, 1, True, id="always, by one apart", marks=pytest.mark.soak),
        pytest.param(1, 2, False, id="always, by two in the worker", marks=pytest.mark.soak),
        pytest.param(3, 1, False, id="at times, by one in the worker", marks=pytest.mark.soak),
        pytest.param(3, 2, True, id="at times, by two apart", marks=pytest.mark.soak),
    ],
)
def test_application__made_by_workers_costs_no_page_either(
    bed: Bed, tmp_path: Path, every: int, workers: int, apart: bool
) -> None:
    """It raises in each of its methods; by one worker and by two, in their processes and in its own."""
    before, path, out = len(bed.log()), tmp_path / "heard", tmp_path / "crawl"
    settings = settings_for(
        bed,
        workers=workers,
        retry_pauses=[0.05],
        timeout=1.0,
        sitemaps=False,
        application="tests.applications:Noting",
        application_options=[f"path={path}", f"every={every}"],
        application_apart=apart,
    )
    with quick_workers():
        summary = run(Plan(seeds=bed.seeds(), out=out, settings=settings, watched=True))
    assert (summary.why, summary.pending, summary.restarted) == ("done", 0, 0)
    check_nothing_lost(bed, out, before)
    raised = Counter(line["where"] for line in heard(path, "raised"))
    assert set(raised) >= ({"begin", "visited", "failed", "redirected", "end"} if every == 1 else {"visited", "failed"})
    assert summary.counts.application_faults == sum(raised.values())
    assert summary.counts.faults == 0


@pytest.mark.faults
def test_links__that_cannot_be_followed_cost_no_page(bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of our own: the page has its record and its row with the reason `internal`, and the crawl goes on."""
    follow, calls = Discovery.follow, Counter[str]()

    def failing(self: Discovery, *arguments: Any, **options: Any) -> Any:
        calls["all"] += 1
        if calls["all"] % 4 == 0:
            calls["raised"] += 1
            raise RuntimeError("a fault of our own")
        return follow(self, *arguments, **options)

    monkeypatch.setattr(Discovery, "follow", failing)
    before = len(bed.log())
    summary = crawled(bed, tmp_path / "crawl")
    check_nothing_lost(bed, tmp_path / "crawl", before)
    assert calls["raised"] > 5
    assert summary.counts.faults == calls["raised"]
    internal = rows(tmp_path / "crawl", "url, volume", "reason = 'internal'")
    assert len(internal) == calls["raised"]
    assert all(volume is not None for _, volume in internal)
