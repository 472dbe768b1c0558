"""Disks that fill up, or fail, in the middle of a crawl: volumes go elsewhere, or the crawl waits; nothing is lost and
nothing is stored twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands import weft
from tests.crawling import crawl, digests_of, make_web, rows, settings_for
from tests.disks import remount, small_disk
from tests.siege import Siege, command_for, wait_until
from warcio.archiveiterator import ArchiveIterator

from weft.app import Summary, run
from weft.directory import Plan
from weft.store.places import volume_folders
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN

TINY = "300k"


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web of some hundred pages, more than a tiny disk holds."""
    with serving(make_web(PLAIN, sites=12, pages=400)) as bed:
        yield bed


def archived(out: Path) -> Counter[tuple[str, str]]:
    """Every URL with its payload digest, as warcio reads the volumes: each record is whole, and none is read twice."""
    found: Counter[tuple[str, str]] = Counter()
    for path in (path for folder in volume_folders(out) for path in folder.glob("*.warc.gz*")):
        assert path.suffix == ".gz", path
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type in ("response", "revisit"):
                    url = record.rec_headers["WARC-Target-URI"]
                    found[url, record.rec_headers["WARC-Payload-Digest"]] += 1
    return Counter({pair: count for pair, count in found.items() if not pair[0].endswith("/robots.txt")})


def check_whole(bed: Bed, out: Path) -> None:
    """The archive, and the columns, have every page of the web once, as an undisturbed crawl has."""
    wanted = digests_of(bed.web)
    assert archived(out) == Counter(wanted.items())
    found = rows(out, "url, digest", "final and kind <> 'robots'")
    assert len(found) == len(dict(found))
    assert dict(found) == wanted
    assert not [path for folder in volume_folders(out) for path in folder.glob("*.open")]


def said(out: Path) -> str:
    """What the operator was told."""
    path = out / "log" / "messages.log"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def shown(out: Path, bed: Bed) -> None:
    """Readers find pages wherever their volumes are."""
    for page in range(0, bed.web.graph.pages, 40):
        assert weft("show", str(out), bed.web.url(page), "--raw")
    audited = json.loads(weft("audit", str(out), "--json"))
    assert "cannot be read from the volumes" not in json.dumps(audited)
    assert "nothing" in weft("repair", str(out), "--check")


@pytest.mark.parametrize("workers", [1, 2])
def test_full_disk__volumes_go_to_the_next_directory(bed: Bed, tmp_path: Path, workers: int) -> None:
    """The set that is stored is that of an undisturbed crawl, and the operator is told."""
    with small_disk(tmp_path / "tiny", TINY) as tiny:
        folders = [tiny / "warcs", tmp_path / "roomy"]
        out = tmp_path / "crawl"
        changes: dict[str, Any] = {"volume_bytes": 60_000, "commit_every": 0.1, "speed": "60 pages/s"}
        done = crawl(bed, out, volumes=[",".join(map(str, folders))], workers=workers, **changes)
        assert done.why == "done"
        check_whole(bed, out)
        assert any(folders[1].glob("*.warc.gz"))
        assert str(folders[0]) in done.out_of_use
        assert f"{folders[0]} is out of use: No space left on device; volumes go to {folders[1]}" in said(out)
        assert done.counts.stalls == 0
        shown(out, bed)


def stall(bed: Bed, out: Path, place: Path, siege: Siege, shown: Path) -> None:
    """Wait until a crawl pauses because a disk is full, see that it says so, make room, and see it end."""
    try:
        wait_until(lambda: siege.over or "the crawl pauses here" in shown.read_text(encoding="utf-8"), "no pause")
        assert not siege.over, said(out)
        told = dict[str, str]()

        def is_told() -> bool:
            told.update(json.loads(weft("status", str(out), "--json")))
            return bool(told["stalled"])

        wait_until(is_told, "weft status says nothing of it")
        assert "No space left on device" in told["stalled"]
        assert "waits for" in weft("status", str(out))
        requests = len(bed.log())
        assert len(bed.log()) < requests + 50, "only pages under way come to their end"
        remount(place, "size=100m")
        assert siege.finish() == 0, said(out)
    finally:
        siege.close()
    assert "the crawl pauses here" in said(out), "by now there is room for it"
    assert "the crawl goes on after" in said(out)
    check_whole(bed, out)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_full_disk__without_another_directory_the_crawl_pauses(bed: Bed, tmp_path: Path, workers: str) -> None:
    """And goes on by itself when there is room."""
    with small_disk(tmp_path / "tiny", TINY) as tiny:
        out = tmp_path / "crawl"
        options = ["--wait", "0", "--workers", workers, "--volumes", str(tiny / "warcs")]
        stall(bed, out, tiny, Siege(command_for(bed, out, *options), tmp_path / "said.txt"), tmp_path / "said.txt")


def test_full_disk__of_the_whole_crawl_has_it_pause(bed: Bed, tmp_path: Path) -> None:
    """The disk has the frontier, the columns and the logs, too."""
    with small_disk(tmp_path / "tiny", "1200k") as tiny:
        out = tiny / "crawl"
        stall(
            bed,
            out,
            tiny,
            Siege(command_for(bed, out, "--wait", "0", "--workers", "1"), tmp_path / "said.txt"),
            tmp_path / "said.txt",
        )


def test_full_disk__a_crawl_that_is_stopped_meanwhile_loses_nothing(bed: Bed, tmp_path: Path) -> None:
    """It ends with the message of the disk, and the same command goes on when there is room."""
    with small_disk(tmp_path / "tiny", TINY) as tiny:
        out = tmp_path / "crawl"
        command = command_for(bed, out, "--wait", "0", "--workers", "1", "--volumes", str(tiny / "warcs"))
        siege = Siege(command, tmp_path / "said.txt")
        try:
            wait_until(lambda: "the crawl pauses here" in said(out), "no pause")
            siege.process.terminate()
            assert siege.finish() == 1
        finally:
            siege.close()
        assert "make room and run the same command again" in (tmp_path / "said.txt").read_text(encoding="utf-8")
        remount(tiny, "size=100m")
        assert Siege(command, tmp_path / "said.txt").finish() == 0
        check_whole(bed, out)


@pytest.mark.restarts
def test_full_disk__and_kill_minus_9_in_between(bed: Bed, tmp_path: Path) -> None:
    """Killed while a volume is in two directories, or waits in memory: the same set, none twice."""
    with small_disk(tmp_path / "tiny", TINY) as tiny:
        out, folders = tmp_path / "crawl", [tiny / "warcs", tmp_path / "roomy"]
        given = [word for folder in folders for word in ("--volumes", str(folder))]
        command = command_for(bed, out, "--wait", "0", "--workers", "2", "--commit-every", "0.1", *given)
        siege = Siege(command, tmp_path / "said.txt")
        try:
            wait_until(lambda: siege.over or "is out of use" in said(out), "no fault")
            for _ in range(3):
                if not siege.over:
                    siege.stop()
                    siege.start()
                    wait_until(lambda: siege.process.poll() is not None or siege.workers(), "it does not start")
            assert siege.finish() == 0, said(out)
        finally:
            siege.close()
        check_whole(bed, out)


def test_volumes__of_another_crawl_are_left_alone(bed: Bed, tmp_path: Path) -> None:
    """A directory belongs to one crawl; `--fresh` removes what is its own there."""
    folder = tmp_path / "warcs"
    done: Summary = crawl(bed, tmp_path / "one", volumes=[str(folder)], max_pages=10)
    assert done.out_of_use == {}
    options = ["--wait", "0", "--workers", "1", "--volumes", str(folder)]
    message = weft(*command_for(bed, tmp_path / "two", *options)[3:], code=2)
    assert "another crawl" in message
    assert not (tmp_path / "two").exists()
    assert len(list(folder.glob("*.warc.gz"))) == 1
    settings = settings_for(bed, volumes=[str(folder)], max_pages=5)
    run(Plan(seeds=bed.seeds(), out=tmp_path / "one", settings=settings, fresh=True))
    assert len(list(folder.glob("*.warc.gz"))) == 1, "of the new one alone"
