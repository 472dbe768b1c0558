"""A checkpoint and a short log say what the whole log said; a crash at any step costs nothing."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.patience import PATIENCE
from tests.unit.frontier.conftest import Make
from tests.unit.frontier.test_parcels import comparable, contents, order_of, retries_of, wander

from weft.clock import VirtualClock
from weft.errors import WeftError
from weft.frontier.durable import checkpoint
from weft.frontier.durable.chain import Manifest, next_life, open_chain, read_manifest, sibling, unsound
from weft.frontier.durable.checkpoint import fold
from weft.frontier.durable.inspect import Ledger
from weft.frontier.durable.log import Commit, FrontierLog
from weft.frontier.durable.records import VERSION, LogHead, packed_head
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.politeness import Politeness
from weft.frontier.special import Special
from weft.model import NO_ID, Kind, PageNumber, Reason, SiteNumber
from weft.ordering import ordering_named
from weft.store.files import SETTLED, Mark

NO_WAIT = Politeness(wait=0.0, per_visit=5, margin=0.0)
ORDERINGS = ("breadth-first", "larger-sites-first", "opic", "partial")


def settle(frontier: LocalFrontier, **more: Any) -> None:
    """Commit until all that is known now is settled."""
    for _ in range(SETTLED + 1):
        frontier.commits.commit(marks={}, **more)


def lives(make: Make, path: Path, ordering: str, seed: int, *, folded: bool) -> LocalFrontier:
    """A crawl in four runs, the last of which stands where the third ended; between runs its log is folded or not."""
    clock, chance = VirtualClock(1000.0), random.Random(seed)
    path.parent.mkdir(exist_ok=True)
    for run in range(4):
        frontier = make(
            path=path,
            clock=clock,
            politeness=NO_WAIT,
            ordering=ordering_named(ordering),
            checkpoint_after=1 if folded else 1 << 40,
        )
        frontier.commits.recover()
        if run == 0:
            frontier.add_seed("http://s0.example/")
        if run == 3:
            break
        wander(frontier, chance, clock, 40)
        settle(frontier, clean=True)
        frontier.close()
        if folded:
            assert fold(path) is not None
    return frontier


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize("seed", range(3))
def test_checkpoint__stands_for_the_log(make: Make, tmp_path: Path, ordering: str, seed: int) -> None:
    """Whatever was crawled in between, three checkpoints later everything is as the whole log has it."""
    plain, folded = tmp_path / "plain" / "frontier.log", tmp_path / "folded" / "frontier.log"
    expected = lives(make, plain, ordering, seed, folded=False)
    found = lives(make, folded, ordering, seed, folded=True)
    assert len(found.pages) == len(expected.pages) > 50
    assert found.pages.log.base is not None
    assert {group: comparable(each) for group, each in contents(folded).items()} == {
        group: comparable(each) for group, each in contents(plain).items()
    }
    assert [found.pages.url_of(PageNumber(page)) for page in range(len(found.pages))] == [
        expected.pages.url_of(PageNumber(page)) for page in range(len(found.pages))
    ]
    sites = len(expected.sites.names)
    assert found.sites.names == expected.sites.names
    assert found.pages.seen.arrays.found[:sites].tolist() == expected.pages.seen.arrays.found[:sites].tolist()
    assert found.sites.begun[:sites].tolist() == expected.sites.begun[:sites].tolist()
    assert retries_of(found) == retries_of(expected)
    assert order_of(found) == order_of(expected)
    assert folded.stat().st_size < plain.stat().st_size / 2


def test_checkpoint__has_what_is_rare(make: Make, tmp_path: Path, clock: VirtualClock) -> None:
    """Cookies, robots.txt files of both kinds, redirects, refusals with their reasons, requests, seeds that moved."""
    path = tmp_path / "frontier.log"
    frontier = make(politeness=NO_WAIT, checkpoint_after=1)
    frontier.add_seed("http://a.example/")
    frontier.add_seed("http://a.example/private/x")
    visit = frontier.visit()
    assert visit is not None
    frontier.enter(visit, "192.0.2.1")
    frontier.robots.learn(visit.site, "http", b"User-agent: *\nDisallow: /private/\nCrawl-delay: 7\n")
    frontier.robots.learn(visit.site, "https", None)
    visit.site.jar.store(["id=1"], clock.wall())
    turn = frontier.turn(visit)
    assert turn is not None
    frontier.redirects.follow(turn, "http://a.example/b", Kind.REDIRECT, 1)
    frontier.discovery.request("http://a.example/form", Special({"x": "y"}, b"body", repeat=True), 1, turn.id)
    frontier.admit("http://b.example/")
    frontier.settle(visit, turn, None)
    frontier.leave(visit)
    settle(frontier)
    frontier.commits.commit(marks={"x": Mark(7, 0, 0)}, counts=b"counted")
    frontier.close()
    assert fold(path) == 1
    again = make(politeness=NO_WAIT)
    last = again.commits.recover()
    assert last is not None
    assert (last.counts, last.marks) == (b"counted", {"x": Mark(7, 0, 0)})
    site = again.sites[SiteNumber(0)]
    assert site.jar.cookies.keys() == {"id"}
    assert site.crawl_delay == 7.0
    assert site.robots_at.keys() == {"http", "https"}
    robots = again.robots.of(site, "http")
    assert robots is not None
    assert not robots.allows("/private/x")
    assert again.specials.of == {3: Special({"x": "y"}, b"body", repeat=True)}
    assert again.scope.admit("http://b.example/") == []
    assert again.redirects.chains.source(PageNumber(2)) == 0
    clock.advance(100.0)
    visit = again.visit()
    assert visit is not None
    assert [turn.url for turn in iter(lambda: again.turn(visit), None)] == ["http://a.example/b"]
    assert again.discovery.refused == {Reason.ROBOTS: 1}
    again.commits.commit(marks={})
    with closing(Ledger(path)) as ledger:
        standing = ledger.standing("http://a.example/private/x")
        assert standing is not None
        assert (standing.state, standing.reason) == ("refused", "robots")


def test_checkpoint__is_made_beside_a_crawl_that_goes_on(make: Make, tmp_path: Path) -> None:
    """A process makes it; then pages and robots.txt files are read from its segments, and what it stands for goes."""
    path = tmp_path / "frontier.log"
    frontier = make(politeness=NO_WAIT, checkpoint_after=1)
    frontier.add_seed("http://a.example/0")
    frontier.robots.learn(frontier.sites[SiteNumber(0)], "http", b"User-agent: *\nDisallow: /b\n")
    frontier.robots.most = 0
    for number in range(1, 200):
        frontier.add_seed(f"http://a.example/{number}")
        frontier.commits.commit(marks={})
        if (process := frontier.commits._rolling._process) is not None:
            assert frontier.commits._rolling._removed_in < 0, (
                "what the one before stands for would be removed with its files"
            )
            process.wait(PATIENCE)
        if frontier.commits._rolling.taken == 3:
            break
    settle(frontier)
    assert frontier.commits._rolling.taken >= 3
    known = len(frontier.pages)
    assert [frontier.pages.url_of(PageNumber(page)) for page in range(known)] == [
        f"http://a.example/{page}" for page in range(known)
    ]
    frontier.sites[SiteNumber(0)].robots.clear()
    robots = frontier.robots.of(frontier.sites[SiteNumber(0)], "http")
    assert robots is not None
    assert not robots.allows("/b")
    frontier.close()
    with closing(open_chain(path)) as chain:
        assert chain.head is not None
        assert chain.base is not None
        needed = {path.name, chain.base.path.name, *(log.path.name for log in chain.logs)}
        needed |= {sibling(path, each.number, each.kind).name for each in chain.base.manifest.segments}
        assert chain.base.manifest.number >= chain.head.number - 1
    assert {each.name for each in tmp_path.iterdir() if each.name.startswith("frontier-")} <= needed
    again = make(politeness=NO_WAIT)
    again.commits.recover()
    assert len(again.pages) == known


def test_checkpoint__moves_robots_files_of_sites_that_nobody_asked_for_yet(make: Make, tmp_path: Path) -> None:
    """They were read back from a log that is gone when the site is visited for the first time in this run."""
    first = make(politeness=NO_WAIT, checkpoint_after=1)
    first.add_seed("http://a.example/0")
    first.robots.learn(first.sites[SiteNumber(0)], "http", b"User-agent: *\nDisallow: /b\n")
    first.commits.commit(marks={})
    first.close()
    frontier = make(politeness=NO_WAIT, checkpoint_after=1)
    frontier.commits.recover()
    for _ in range(10):
        frontier.commits.commit(marks={})
        if (process := frontier.commits._rolling._process) is not None:
            process.wait(PATIENCE)
    assert frontier.commits._rolling.taken >= 1
    assert not (tmp_path / "frontier-00000.log").exists()
    robots = frontier.robots.of(frontier.sites[SiteNumber(0)], "http")
    assert robots is not None
    assert not robots.allows("/b")


STEPS = ["_write_segment", "_move_robots", "_write_tables"]


@pytest.mark.parametrize("step", [*STEPS, "rename", "manifest", "nothing"])
def test_crash__while_a_checkpoint_is_made_costs_nothing(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whatever is there of it, the next run stands on the checkpoint before and the logs since then."""
    path = tmp_path / "crawl" / "frontier.log"
    expected = lives(make, path, "breadth-first", 5, folded=True)
    seen = [expected.pages.url_of(PageNumber(page)) for page in range(len(expected.pages))], order_of(expected)
    expected.close()
    frontier = make(path=path, politeness=NO_WAIT, checkpoint_after=1)
    frontier.commits.recover()
    settle(frontier)
    frontier.close()
    if step in STEPS:
        monkeypatch.setattr(checkpoint._Folding, step, _dies)
    elif step == "rename":
        monkeypatch.setattr(checkpoint, "sync_folder", _dies)
    elif step == "manifest":
        monkeypatch.setattr(checkpoint, "packed_manifest", _dies)
    if step == "nothing":
        assert fold(path) is not None
    else:
        with pytest.raises(RuntimeError, match="died"):
            fold(path)
    monkeypatch.undo()
    again = make(path=path, politeness=NO_WAIT)
    again.commits.recover()
    assert ([again.pages.url_of(PageNumber(page)) for page in range(len(again.pages))], order_of(again)) == seen
    assert not list(path.parent.glob("*.new"))
    assert not list(unsound(path, closely=True))


def _dies(*_: Any, **__: Any) -> None:
    raise RuntimeError("died")


@pytest.mark.parametrize("step", ["before", "linked", "renamed"])
def test_crash__while_a_log_is_closed_costs_nothing(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The next file is there, or the log has two names, or the next file has its name: it is one log to the reader."""
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/1")
    settle(frontier)
    frontier.add_seed("http://a.example/2")
    frontier.commits._rolling._after = 1
    where = {"before": "os.link", "linked": "sync_folder", "renamed": "FrontierLog.written"}[step]
    monkeypatch.setattr(f"weft.frontier.durable.log.{where}", _dies)
    with pytest.raises(RuntimeError, match="died"):
        frontier.commits.commit(marks={}, sync=True)
    monkeypatch.undo()
    frontier.close()
    again = make(politeness=NO_WAIT)
    again.commits.recover()
    assert len(again.pages) == (2 if step == "renamed" else 1)
    assert again.pages.log.number == (1 if step == "renamed" else 0)
    expected = {"frontier.log", "frontier-00000.log"} if step == "renamed" else {"frontier.log"}
    assert {each.name for each in tmp_path.iterdir() if each.is_file()} - {"frontier.pauses0"} == expected
    again.add_seed("http://a.example/3")
    settle(again)


def test_closed_log__of_which_the_last_records_do_not_count(tmp_path: Path) -> None:
    """What is dropped may reach into the log before."""
    path = tmp_path / "frontier.log"
    log = FrontierLog(path)
    for number in range(4):
        log.append(number + 1, f"http://a.example/{number}", NO_ID, SiteNumber(0), 0, 0)
        log.pack(Commit(sites=["a.example"] if number == 0 else [], marks={"x": Mark(number, 0, 0)}), roll=number == 3)
        log.write(sync=False)
        log.written()
    log.close()
    assert fold(path) is None, "its last record is not settled"
    with closing(FrontierLog(path)) as again:
        records = list(again.replay(lambda commit: commit.marks["x"].length < 2))
        assert len(records) == 2
        assert len(again.dropped) == 2
    with closing(FrontierLog(path)) as again:
        assert len(list(again.replay())) == 2
        again.append(9, "http://a.example/9", NO_ID, SiteNumber(0), 0, 0)
        again.commit(Commit())
        assert again.entry(2).url == "http://a.example/9"


@pytest.mark.parametrize("lost", ["zeros", "cut"])
def test_closed_log__may_be_followed_by_one_that_a_crash_cost_everything(make: Make, tmp_path: Path, lost: str) -> None:
    """Its head, too: the log goes on behind the one that was closed."""
    path = tmp_path / "frontier.log"
    frontier = make(politeness=NO_WAIT)
    frontier.add_seed("http://a.example/1")
    settle(frontier)
    frontier.commits._rolling._after = 1
    frontier.add_seed("http://a.example/2")
    frontier.commits.commit(marks={})
    frontier.close()
    path.write_bytes(bytes(path.stat().st_size) if lost == "zeros" else b"")
    for _ in range(2):
        again = make(politeness=NO_WAIT)
        again.commits.recover()
        assert (len(again.pages), again.pages.log.number) == (1 + _, 1)
        again.add_seed("http://a.example/3")
        settle(again)
        again.close()
    assert fold(path) == 1


@pytest.fixture
def folded(make: Make, tmp_path: Path) -> Path:
    """The log of a crawl that stands on a checkpoint."""
    path = tmp_path / "crawl" / "frontier.log"
    lives(make, path, "opic", 1, folded=True).close()
    return path


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 8
    path.write_bytes(data)


DEEDS: dict[str, Callable[[Path], None]] = {
    "flip": _flip,
    "cut": lambda path: os.truncate(path, 10),
    "gone": Path.unlink,
}
DAMAGES: dict[str, Callable[[Path, Manifest], Path]] = {
    "state": lambda path, manifest: sibling(path, manifest.number, "checkpoint") / "state",
    "scores": lambda path, manifest: sibling(path, manifest.number, "checkpoint") / "scores",
    "sites": lambda path, manifest: sibling(path, manifest.number, "checkpoint") / "sites",
    "manifest": lambda path, manifest: sibling(path, manifest.number, "checkpoint") / "manifest",
    "pages": lambda path, manifest: sibling(path, manifest.segments[0].number, "pages"),
    "robots": lambda path, manifest: sibling(
        path, next(each.number for each in manifest.segments if each.kind == "robots"), "robots"
    ),
}


@pytest.mark.parametrize("what", DAMAGES)
@pytest.mark.parametrize("how", ["flip", "cut", "gone"])
def test_damage__of_a_checkpoint_is_told(folded: Path, what: str, how: str) -> None:
    """Which file, and nothing is changed."""
    number = max(int(each.name[9:14]) for each in folded.parent.glob("frontier-*.checkpoint"))
    manifest = read_manifest(sibling(folded, number, "checkpoint"))
    file = DAMAGES[what](folded, manifest)
    DEEDS[how](file)
    before = {each: each.read_bytes() for each in folded.parent.rglob("*") if each.is_file()}
    try:
        found = [path for path, _ in unsound(folded, closely=True)]
    except WeftError as error:
        found = [Path(error.where)]
    assert found == [file]
    assert {each: each.read_bytes() for each in folded.parent.rglob("*") if each.is_file()} == before


def test_copy__with_other_times_is_read_once(folded: Path, tmp_path: Path) -> None:
    """What is as it was has its time back, and is not read again."""
    shutil.copytree(folded.parent, tmp_path / "copy", copy_function=shutil.copyfile)
    copy = tmp_path / "copy" / folded.name
    assert not list(unsound(copy, closely=False))
    with closing(open_chain(copy)) as chain:
        assert chain.base is not None
        segments = chain.base.manifest.segments
    assert [sibling(copy, each.number, each.kind).stat().st_mtime_ns for each in segments] == [
        each.changed for each in segments
    ]


def test_handed_over__what_was_before_does_not_count(make: Make, folded: Path) -> None:
    """A log that begins with nothing stands on no checkpoint, though one is there, and what is there is removed."""
    stub = folded.with_name("stub")
    log = FrontierLog(stub, life=next_life(folded))
    log.commit(Commit(number=5))
    log.close()
    stub.rename(folded)
    frontier = make(path=folded)
    frontier.commits.recover()
    assert len(frontier.pages) == 0
    assert {each.name for each in folded.parent.glob("frontier-*")} == set()


def test_version__of_another_weft_is_refused(tmp_path: Path) -> None:
    """With what to do; a log without a head is of the first version."""
    path = tmp_path / "frontier.log"
    path.write_bytes(packed_head(LogHead(), VERSION + 1))
    with pytest.raises(WeftError, match="a newer weft wrote this"):
        FrontierLog(path)
    log = FrontierLog(tmp_path / "other.log")
    log.commit(Commit())
    log.close()
    path.write_bytes((tmp_path / "other.log").read_bytes()[len(packed_head(log._head)) :])
    with pytest.raises(WeftError, match="an older weft wrote this"):
        FrontierLog(path)


def test_records__of_a_later_weft_can_be_read() -> None:
    """What is new has a key of its own, and is passed over."""

    class Later(Commit):
        invented: int = 7

    class LaterManifest(Manifest):
        invented: int = 7

    commit = msgspec.msgpack.decode(msgspec.msgpack.encode(Later(number=3)), type=Commit)
    assert commit == Commit(number=3)
    manifest = msgspec.msgpack.decode(msgspec.msgpack.encode(LaterManifest(number=3)), type=Manifest)
    assert manifest == Manifest(number=3)


def test_robots_segments__are_rewritten_when_little_of_them_counts(make: Make, tmp_path: Path) -> None:
    """Files that were fetched again leave nothing behind for ever."""
    path = tmp_path / "frontier.log"
    sizes = []
    for run in range(6):
        frontier = make(politeness=NO_WAIT, checkpoint_after=1)
        frontier.commits.recover()
        for number in range(20):
            frontier.add_seed(f"http://s{number}.example/")
            frontier.robots.learn(
                frontier.sites[SiteNumber(number)], "http", f"User-agent: *\nDisallow: /{run}\n".encode()
            )
        settle(frontier)
        frontier.close()
        fold(path)
        sizes.append(sum(each.stat().st_size for each in tmp_path.glob("*.robots")))
    assert max(sizes) < 3 * sizes[0]
    again = make(politeness=NO_WAIT)
    again.commits.recover()
    robots = again.robots.of(again.sites[SiteNumber(7)], "http")
    assert robots is not None
    assert not robots.allows("/5")


def test_log__is_closed_when_it_grew_beyond_its_bound(make: Make) -> None:
    """And no second one while the first is not folded."""
    frontier = make(checkpoint_after=1000)
    numbers = []
    for number in range(9):
        frontier.add_seed(f"http://a.example/{'x' * 300}{number}")
        frontier.commits.commit(marks={})
        numbers.append((frontier.pages.log.number, frontier.pages.log.closed))
        if frontier.commits._rolling._process is not None:
            break
    assert numbers == [(0, False), (0, False), (0, False), (1, True), (1, True), (1, True)]


def test_checkpoint__of_which_half_was_made_is_removed(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process was killed: the half is gone with the next commit, and is not there when the crawl ends just then."""
    said: list[str] = []
    killed = tmp_path / "killed.sh"
    killed.write_text('#!/bin/sh\nmkdir "${3%.log}-00001.checkpoint.new"\nkill -9 $$\n')
    killed.chmod(0o755)
    frontier = make(checkpoint_after=1, say=said.append)
    monkeypatch.setattr(sys, "executable", str(killed))
    for number in range(9):
        frontier.add_seed(f"http://a.example/{number}")
        frontier.commits.commit(marks={})
        if (process := frontier.commits._rolling._process) is not None:
            process.wait(60)
            assert list(tmp_path.glob("*.new"))
        if said:
            break
    assert said[0].startswith("no checkpoint was made: its process ended by signal 9")
    assert not list(tmp_path.glob("*.new"))


def test_checkpoint__that_cannot_be_made_is_told(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """How its process ended; it is tried again when the log has grown, and nothing is lost meanwhile."""
    said: list[str] = []
    frontier = make(checkpoint_after=1, say=said.append)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    for number in range(9):
        frontier.add_seed(f"http://a.example/{number}")
        frontier.commits.commit(marks={})
        if (process := frontier.commits._rolling._process) is not None:
            process.wait(PATIENCE)
    assert said[0].startswith("no checkpoint was made: its process ended by exit code 1")
    frontier.close()
    again = make()
    again.commits.recover()
    assert len(again.pages) == 9
