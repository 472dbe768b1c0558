"""A crawl whose workers know little at a time stores what any crawl stores, whoever dies and whatever is handed on."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.commands import weft
from tests.crawling import make_web
from tests.siege import Siege, check_servers, check_stored, command_for, run_doomed, wait_until

from weft.clean import clean_crawl
from weft.explain import explain_url
from weft.frontier.durable.chain import MANIFEST, read_manifest
from weft.frontier.durable.parcels import PENDING, pages_of, parcels_of, unpacked
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN
from weft.testbed.serve import ServerSettings

WAIT = 0.2
KNOWN = 300  # URLs at a time, of 900
APART = replace(PLAIN, sites_per_address=1)
BOUNDED = ["--checkpoint-bytes", "30000", "--commit-every", "0.2"]


@pytest.fixture
def bed() -> Iterator[Bed]:
    """A web of some hundred sites."""
    with serving(make_web(APART, sites=60, pages=900, largest=40), ServerSettings(keep_alive_s=5.0)) as bed:
        yield bed


def command(bed: Bed, out: Path, workers: int, *more: str, known: int = KNOWN) -> list[str]:
    """Crawl the bed with so many workers, each of which knows little."""
    options = ["--wait", str(WAIT), "--per-visit", "5", "--workers", str(workers), "--most-known", str(known)]
    return command_for(bed, out, *options, *BOUNDED, *more)


def put_away(out: Path) -> bool:
    """Did a worker put so much away that pages have left its segments?"""
    manifests = out.glob(f"workers/*/frontier-*.checkpoint/{MANIFEST}")
    return any(read_manifest(path.parent).first > 0 for path in manifests)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("workers", [1, 2])
def test_bounded__stores_what_any_crawl_does(workers: int, bed: Bed, tmp_path: Path) -> None:
    """Every page once, and no server is asked too often."""
    out = tmp_path / "crawl"
    siege = Siege(command(bed, out, workers), tmp_path / "output.txt")
    try:
        code = siege.finish()
    finally:
        siege.close()
    assert code == 0, (tmp_path / "output.txt").read_text(encoding="utf-8", errors="replace")[-2000:]
    check_stored(bed, out)
    assert put_away(out)


@pytest.mark.restarts
@pytest.mark.timeout(300)
def test_bounded__is_stopped_killed_and_goes_on(bed: Bed, tmp_path: Path) -> None:
    """A stop, a kill of everything, then another number of workers: nothing is lost and nothing twice."""
    out = tmp_path / "crawl"
    siege = Siege(command(bed, out, 2, "--speed", "100 pages/s"), tmp_path / "output.txt")
    began = len(bed.log())
    try:
        for pages, killed in ((200, False), (350, True), (500, True)):
            wait_until(lambda pages=pages: len(bed.log()) > began + pages or siege.over, "the crawl stands still")
            assert not siege.over
            if killed:
                siege.stop()
            else:
                siege.process.send_signal(signal.SIGTERM)
                siege.process.wait()
            if pages < 500:
                siege.start()
    finally:
        siege.close()
    siege = Siege(command(bed, out, 1), tmp_path / "output.txt")
    try:
        code = siege.finish()
    finally:
        siege.close()
    assert code == 0, (tmp_path / "output.txt").read_text(encoding="utf-8", errors="replace")[-2000:]
    check_stored(bed, out)
    check_servers(bed, out, wait=WAIT)
    assert put_away(out)


WINDOWS = [
    pytest.param("Shelving._put_away", 2, "after", id="put away, not written"),
    pytest.param("Shelving.read", 30, "after", id="read, not taken back", marks=pytest.mark.soak),
    pytest.param("Shelving._take_back", 2, "after", id="taken back, not written"),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("point", "call", "when"), WINDOWS)
def test_windows__of_the_shelf(point: str, call: int, when: str, bed: Bed, tmp_path: Path) -> None:
    """A worker dies while a group goes to the shelf or comes from it, and nothing shows in what is stored."""
    out = tmp_path / "crawl"
    where = f"weft.frontier.local.shelving:{point}"
    changes = {"most_known": KNOWN, "checkpoint_bytes": 15_000}
    assert run_doomed(bed, out, [(where, call, when)], **changes) == 1, "the point was never reached"
    check_stored(bed, out)


@pytest.mark.timeout(300)
def test_bounded__tells_of_its_shelf(bed: Bed, tmp_path: Path) -> None:
    """`weft status` counts what is put away, `weft explain` knows a page there, `weft clean` takes none for lost."""
    out = tmp_path / "crawl"
    siege = Siege(command(bed, out, 1, "--speed", "60 pages/s", known=100), tmp_path / "output.txt")
    try:
        wait_until(lambda: put_away(out) or siege.over, "nothing is put away")
        assert not siege.over
        siege.process.send_signal(signal.SIGTERM)
        siege.process.wait()
    finally:
        siege.close()
    assert "domains put away" in weft("status", out)
    (path,) = out.glob("workers/*/frontier.log")
    urls = [url for parcel in parcels_of(path) for url in _pending(parcel.content)]
    assert any("on the shelf" in explain_url(out, url).verdict for url in urls)
    assert clean_crawl(out).handed_over == []


def _pending(content: bytes) -> list[str]:
    pages = pages_of(unpacked(content))
    return [url for url, state in zip(pages.urls, pages.state.tolist(), strict=True) if state == PENDING]
