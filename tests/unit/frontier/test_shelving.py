"""A worker that puts groups away crawls what one crawls that has room for everything; a crash at any step costs
nothing.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pytest
from tests.unit.frontier.conftest import Make, parsed
from tests.unit.frontier.test_parcels import comparable, contents, one_of_each, send

from weft.clock import VirtualClock
from weft.compiled import release, reserve
from weft.config import Settings
from weft.directory import Plan
from weft.errors import UsageError, WeftError
from weft.frontier.durable import checkpoint
from weft.frontier.durable.checkpoint import fold
from weft.frontier.durable.inspect import Ledger
from weft.frontier.durable.log import FrontierLog
from weft.frontier.durable.on_shelf import links_left, on_shelf
from weft.frontier.durable.parcels import Estate, parcels_of, unpacked
from weft.frontier.durable.past import Past
from weft.frontier.durable.shelf import BACK, MAIL, WHOLE, Pieces, Shelf, joined, pieces_of
from weft.frontier.local import rolling
from weft.frontier.local.bounds import Bound, bound_of
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.politeness import Politeness
from weft.frontier.shared.contract import Orders
from weft.model import Kind, Reason, UrlId
from weft.ordering import ordering_named
from weft.parts import check_parts
from weft.store.files import SETTLED

POLITE = Politeness(wait=1.0, connections=4, per_visit=3, margin=0.0)
SMALL = Bound(100, 60)
GROUPS, PAGES = 30, 10


class Folded:
    """Stands for the process that makes a checkpoint: it is done at once."""

    stdout = None

    def __init__(self, command: list[str], **_more: Any) -> None:
        self.returncode = 0 if fold(Path(command[3]), applied=int(command[4])) is not None else 3

    def poll(self) -> int:
        """It is done."""
        return self.returncode

    def kill(self) -> None:
        """It has ended."""

    def wait(self) -> None:
        """It has ended."""


class Folding:
    """Stands for `subprocess`."""

    DEVNULL = PIPE = -1
    Popen = Folded


class NotFolded(Folded):
    """Stands for a process that is never done."""

    def __init__(self, command: list[str], **_more: Any) -> None:
        self.command = command

    def poll(self) -> None:  # type: ignore[override]
        """It is not done."""


class NeverFolding(Folding):
    """Stands for `subprocess` on a slow machine."""

    Popen = NotFolded


@pytest.fixture(autouse=True)
def folding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints are made in this process, when they are asked for."""
    monkeypatch.setattr(rolling, "subprocess", Folding)


class Crawled(NamedTuple):
    """What came of a crawl."""

    done: list[str]
    most: int  # numbers in use at a time
    put_away: int
    runs: int


def links_of(url: str) -> list[str]:
    """The links of a page, always the same."""
    chance = random.Random(url)
    return [
        f"http://www.s{chance.randrange(GROUPS)}.example/p{chance.randrange(PAGES)}"
        if chance.random() < 0.6
        else f"/p{chance.randrange(PAGES)}"
        for _ in range(8)
    ]


def visit_one(frontier: LocalFrontier, done: list[str]) -> bool:
    """One visit; was there one? A page in twenty fails at first."""
    visit = frontier.visit()
    if visit is None:
        return False
    frontier.enter(visit, f"192.0.2.{visit.site.number % 200}")
    while (turn := frontier.turn(visit)) is not None:
        fails = turn.attempt == 1 and crc32(turn.url.encode()) % 20 == 0
        if not fails:
            links, _ = frontier.discovery.follow(visit.site, turn, parsed(turn.url, *links_of(turn.url)))
            if frontier.ranking.scores:
                frontier.ranking.visited(turn.page, links.keys)
            done.append(turn.url)
        frontier.settle(visit, turn, Reason.STATUS_5XX if fails else None)
    frontier.leave(visit)
    return True


def commit(frontier: LocalFrontier) -> None:
    """What a worker does once a second."""
    frontier.commits.commit(marks={})
    frontier.exchanges.obey(Orders(applied=1 << 62))


def crawl(
    make: Make, path: Path, ordering: str, bound: Bound | None, *, restarts: float = 0.0, seed: int = 0, after: int = 0
) -> Crawled:
    """Crawl to the end, restarting now and then behind a commit; or go on, `after` so many seconds."""
    path.parent.mkdir(exist_ok=True)
    clock, chance, done, most, runs = VirtualClock(1000.0 + after), random.Random(seed), list[str](), 0, 0

    def begin() -> LocalFrontier:
        frontier = make(
            path=path,
            clock=clock,
            politeness=POLITE,
            ordering=ordering_named(ordering),
            bound=bound,
            checkpoint_after=20_000,
        )
        frontier.commits.recover()
        return frontier

    frontier = begin()
    if not len(frontier.pages):
        frontier.add_seed("http://www.s0.example/p0")
    last = put_away = 0
    for step in range(100_000):
        visited = visit_one(frontier, done)
        if not visited:
            clock.advance(0.3)
        if clock.now() - last < 1.0 and step % 7:
            continue
        last = int(clock.now())
        commit(frontier)
        shelving = frontier.exchanges.shelving
        if shelving is not None:
            most = max(most, shelving.in_use)
        if not visited and frontier.exchanges.idle:
            break
        if chance.random() < restarts:
            put_away += 0 if shelving is None else shelving.put
            frontier.close()
            frontier, runs = begin(), runs + 1
    else:
        pytest.fail("the crawl does not end")
    put_away += 0 if frontier.exchanges.shelving is None else frontier.exchanges.shelving.put
    frontier.close()
    return Crawled(done, most, put_away, runs)


@pytest.mark.parametrize("ordering", ["breadth-first", "larger-sites-first", "opic"])
@pytest.mark.parametrize("seed", range(3))
def test_bounded__crawls_what_an_unbounded_one_does(make: Make, tmp_path: Path, ordering: str, seed: int) -> None:
    """Every page once, whatever was put away and however often the worker was started again."""
    expected = crawl(make, tmp_path / "all" / "frontier.log", ordering, None)
    found = crawl(make, tmp_path / "some" / "frontier.log", ordering, SMALL, restarts=0.03 * seed, seed=seed)
    assert Counter(found.done) == Counter(expected.done)
    assert len(found.done) > 2 * SMALL.pages
    assert found.put_away > GROUPS
    assert found.most <= SMALL.pages
    assert bool(found.runs) == bool(seed)


def test_group__that_is_larger_than_the_bound_is_crawled(make: Make, tmp_path: Path) -> None:
    """When nothing else can be done it comes back, and stays for its visits."""
    expected = crawl(make, tmp_path / "all" / "frontier.log", "breadth-first", None)
    found = crawl(make, tmp_path / "some" / "frontier.log", "breadth-first", Bound(PAGES - 2, 60))
    assert Counter(found.done) == Counter(expected.done)


def everything(path: Path) -> Iterator[tuple[str, str]]:
    """Each page of a frontier's files, with its group."""
    for group, content in contents(path).items():
        for url in content.urls.decode().split("\n") if content.site else ():
            yield group, url


def test_crash__leaves_each_group_here_or_on_the_shelf(make: Make, tmp_path: Path) -> None:
    """Whatever commits are lost, up to two, no page is in two places, and the crawl that goes on loses none."""
    path = tmp_path / "run" / "frontier.log"
    path.parent.mkdir()
    expected = set(crawl(make, tmp_path / "all" / "frontier.log", "breadth-first", None).done)
    clock, done, copies = VirtualClock(1000.0), list[str](), 0
    frontier = make(path=path, clock=clock, politeness=POLITE, bound=SMALL, checkpoint_after=20_000)
    frontier.add_seed("http://www.s0.example/p0")
    settled: list[int] = []  # by commit: how much was done by then
    for step in range(600):
        if not visit_one(frontier, done):
            clock.advance(0.3)
        if step % 5:
            continue
        commit(frontier)
        settled.append(len(done))
        if step % 40 == 0 and len(settled) > SETTLED:
            copies += 1
            folder = tmp_path / f"copy{copies}"
            shutil.copytree(path.parent, folder)
            lost = drop_records(folder / "frontier.log", copies % (SETTLED + 1))
            found = Counter(everything(folder / "frontier.log"))
            assert max(found.values()) == 1, f"copy {copies}"
            before = set(done[: settled[-1 - lost]])
            after = crawl(make, folder / "frontier.log", "breadth-first", SMALL, after=int(clock.now()))
            assert before | set(after.done) == expected, f"copy {copies}"
            assert not before & set(after.done), f"copy {copies}"
    frontier.close()
    assert copies > 10


def test_hand_over__of_a_shelf_loses_nothing(make: Make, tmp_path: Path) -> None:
    """What a worker had, here, on the shelf and in between, another goes on with, whenever it was stopped."""
    path = tmp_path / "run" / "frontier.log"
    path.parent.mkdir()
    expected = set(crawl(make, tmp_path / "all" / "frontier.log", "breadth-first", None).done)
    clock, done, copies = VirtualClock(1000.0), list[str](), 0
    frontier = make(path=path, clock=clock, politeness=POLITE, bound=SMALL, checkpoint_after=20_000)
    frontier.add_seed("http://www.s0.example/p0")
    for step in range(500):
        if not visit_one(frontier, done):
            clock.advance(0.3)
        if step % 5:
            continue
        commit(frontier)
        if step % 50 == 0:
            copies += 1
            heir = make(path=tmp_path / f"heir{copies}.log", clock=VirtualClock(clock.now()), politeness=POLITE)
            send(parcels_of(path), heir)
            after = list[str]()
            for _ in range(10_000):
                if not visit_one(heir, after) and heir.schedule.done:
                    break
                heir._clock.advance(0.3)  # type: ignore[attr-defined]
            assert set(done) | set(after) == expected, f"copy {copies}"
            assert not set(done) & set(after), f"copy {copies}"
    assert copies == 10


def of_running(path: Path, since: int, *, changed_only: bool) -> tuple[int, dict[str, Any], bool]:
    """The last commit that counts of a worker that runs, its parcels, and whether a checkpoint came since a commit."""
    estate = Estate.of_running(path, applied=0, since=since)
    with closing(estate):
        last = 0 if estate.last is None else estate.last.number
        found = {parcel.group: parcel for parcel in estate.parcels(made_at=1.0, changed_only=changed_only)}
        base = estate._log.base
        return last, found, base is not None and base.manifest.last.number > since


def test_rounds__of_a_worker_that_runs_have_what_changed_on_the_shelf(make: Make, tmp_path: Path) -> None:
    """Parcels of what changed, round by round, are those of all groups: what was put away, came back or got mail."""
    path = tmp_path / "run" / "frontier.log"
    path.parent.mkdir()
    clock, kept, since = VirtualClock(1000.0), dict[str, Any](), 0
    mailed = small = 0
    frontier = make(path=path, clock=clock, politeness=POLITE, bound=SMALL, checkpoint_after=20_000)
    frontier.add_seed("http://www.s0.example/p0")
    for step in range(500):
        if not visit_one(frontier, []):
            clock.advance(0.3)
        if step % 3:
            continue
        commit(frontier)
        last, parcels, folded = of_running(path, since, changed_only=True)
        _, everything_there, _ = of_running(path, 0, changed_only=False)
        shelving = frontier.exchanges.shelving
        assert shelving is not None
        if not folded and since:
            small += len(parcels) < len(everything_there)
            mailed += sum(shelving.has(group) for group in parcels)
        kept |= {group: comparable(unpacked(parcel.content)) for group, parcel in parcels.items()}
        expected = {group: comparable(unpacked(each.content)) for group, each in everything_there.items()}
        assert kept == expected, f"step {step}"
        since = last
    frontier.close()
    assert small > 10
    assert mailed > 10


def test_name__that_is_dead_or_asked_for_on_the_shelf(make: Make, tmp_path: Path) -> None:
    """A site whose name is being asked for stays; a dead one goes, and is dead when it is back."""
    clock = VirtualClock(1000.0)
    frontier = make(path=tmp_path / "frontier.log", clock=clock, politeness=POLITE, bound=Bound(3, 60))
    for name in ("dead", "asked"):
        assert frontier.discovery.offer(f"http://{name}.example/", Kind.A, 1, UrlId(7)) is None
        assert frontier.visit(asks=True) is None
    dead, asked = frontier.names.unasked
    frontier.deny(dead)
    frontier.named(dead)
    for number in range(5):
        frontier.add_seed(f"http://more.example/{number}")
    commit(frontier)
    shelving = frontier.exchanges.shelving
    assert shelving is not None
    assert shelving.has("dead.example")
    assert not shelving.has("asked.example")
    assert not frontier.sites.dead
    assert frontier.sites.get("asked.example") is asked
    frontier.discovery.offer("http://dead.example/2", Kind.A, 1, UrlId(7))  # is mail
    frontier.named(asked)
    for _ in range(100):
        while (visit := frontier.visit()) is not None:
            frontier.enter(visit, "192.0.2.1")
            while (turn := frontier.turn(visit)) is not None:
                frontier.settle(visit, turn, None)
            frontier.leave(visit)
        clock.advance(1.0)
        commit(frontier)
        if not shelving.has("dead.example"):
            break
    else:
        pytest.fail("it does not come back")
    site = frontier.sites.get("dead.example")
    assert site is not None
    assert site.denied_at == frontier.sites.dead[site.number] == 1000.0
    assert frontier.discovery.offer("http://dead.example/3", Kind.A, 1, UrlId(7)) is Reason.DNS_NOT_FOUND
    assert frontier.discovery.refused[Reason.DNS_NOT_FOUND] == 2
    frontier.close()


def drop_records(path: Path, most: int) -> int:
    """Cut the last records off a log, as a crash may; how many there were to be cut."""
    log = FrontierLog(path, read_only=True)
    with closing(log):
        ends = [log.size, *(log.size for _ in log.good_part())]
    lost = min(most, len(set(ends)) - 2)
    if lost > 0:
        with path.open("r+b") as file:
            file.truncate(sorted(set(ends))[-1 - lost])
    return max(lost, 0)


def test_fold__that_dies_at_any_write_is_made_again(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies while it puts groups away leaves what was there; the next one does the same again."""
    path = put_all_away(make, tmp_path, monkeypatch, folded=False)
    before = {group: comparable(each) for group, each in contents(path).items()}
    real, deaths = checkpoint._Folding._write, 0
    for dies_at in range(20):
        writes = 0

        def write(self: Any, file: Path, data: Any, dies_at: int = dies_at) -> Any:
            nonlocal writes
            writes += 1
            if writes > dies_at:
                raise KeyboardInterrupt
            return real(self, file, data)

        monkeypatch.setattr(checkpoint._Folding, "_write", write)
        try:
            made = fold(path)
        except KeyboardInterrupt:
            deaths += 1
            made = None
        assert {group: comparable(each) for group, each in contents(path).items()} == before
        if made is not None:
            break
    assert made is not None
    assert deaths > 5


def put_all_away(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, folded: bool = True) -> Path:
    """A frontier with a page in every state, all of whose groups are put away, and a link to one of them."""
    monkeypatch.setattr(rolling, "subprocess", NeverFolding)
    path, clock = tmp_path / "frontier.log", VirtualClock(1000.0)
    frontier = make(
        path=path, clock=clock, politeness=Politeness(wait=2.0, per_visit=5, margin=0.0), bound=Bound(2, 60)
    )
    one_of_each(frontier, clock)
    commit(frontier)
    assert frontier.exchanges.shelving is not None
    assert frontier.exchanges.shelving.groups == 2
    assert len(frontier.sites) == 0
    frontier.add_seed("http://new.a.example/mail")
    frontier.add_seed("http://www.a.example/done")  # is known
    for _ in range(SETTLED + 1):
        frontier.commits.commit(marks={}, clean=True)
    frontier.commits._rolling.hurry = True
    for _ in range(SETTLED + 1):
        frontier.commits.commit(marks={}, clean=True)
    frontier.close()
    monkeypatch.setattr(rolling, "subprocess", Folding)
    if folded:
        assert fold(path) is not None
    return path


def test_group__comes_back_as_it_was(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages in every state, retries, robots.txt, what is remembered of sites: all of it is as it was put away."""
    clock = VirtualClock(1000.0)
    plain = make(path=tmp_path / "plain.log", clock=clock, politeness=Politeness(wait=2.0, per_visit=5, margin=0.0))
    one_of_each(plain, clock)
    plain.add_seed("http://new.a.example/mail")
    plain.commits.commit(marks={}, clean=True)
    expected = {group: comparable(each) for group, each in contents(tmp_path / "plain.log").items()}
    path = put_all_away(make, tmp_path, monkeypatch)
    assert {group: comparable(each) for group, each in contents(path).items()} == expected
    clock.advance(10.0)  # it rested
    frontier = make(path=path, clock=clock, politeness=POLITE, bound=Bound(1000, 60))
    frontier.commits.recover()
    for _ in range(20):  # the mail is in a log that is yet to be folded
        frontier.commits.commit(marks={}, clean=True)
    assert frontier.exchanges.shelving is not None
    assert frontier.exchanges.shelving.groups == 0
    found = {group: comparable(each) for group, each in contents(path).items()}
    for group, each in expected.items():
        assert found[group]["pages"] == each["pages"]
        assert found[group]["retries"] == each["retries"]
        for name, (memory, robots) in each["sites"].items():
            then, files = found[group]["sites"][name]
            assert files == robots
            if memory:  # a run began since then: it is left alone for its wait
                assert then.next_visit >= memory.next_visit
                then.next_visit, then.rest = memory.next_visit, memory.rest
                assert then == memory


@pytest.mark.parametrize("folded", [False, True])
def test_readers__know_what_is_on_the_shelf(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, folded: bool
) -> None:
    """Whoever asks about a URL is told where it stands, in a run or on the way there; a damaged shelf gives links."""
    path = put_all_away(make, tmp_path, monkeypatch, folded=folded)
    frontier = make(path=tmp_path / "other.log")
    keys = frontier.pages.seen.keyed.of
    for ledger in (Ledger(path), Ledger(path, key_of=keys)):
        with closing(ledger):
            states = {}
            for name in ("done", "private/refused", "retry", "pending"):
                standing = ledger.standing(f"http://www.a.example/{name}")
                assert standing is not None
                assert standing.shelved
                assert standing.order is None
                states[name] = standing.state
            assert states == {"done": "done", "private/refused": "refused", "retry": "retry", "pending": "pending"}
            assert ledger.standing("http://www.a.example/never") is None
            assert ledger.knows("www.a.example")
            assert ledger.site_pages("www.a.example") == 6
            assert ledger.robots("www.a.example", "http") is not None
    if folded:  # until then its pages are in the log
        assert "http://www.a.example/retry" in {link.url for link in links_left(path)}
    assert "http://new.a.example/mail" in {link.url for link in links_left(path)}


@pytest.mark.parametrize("folded", [False, True])
def test_estate__has_what_is_remembered_of_sites_on_the_shelf(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, folded: bool
) -> None:
    """How long an address is left alone when its worker is dissolved is told by its sites, wherever they are."""

    def remembered(path: Path) -> tuple[int, list[tuple[str, bytes, dict[str, bytes]]]]:
        estate = Estate(path, read_only=True)
        with closing(estate):
            return estate.held, sorted((name, data, robots()) for name, data, robots in estate.memories())

    clock = VirtualClock(1000.0)
    plain = make(path=tmp_path / "plain.log", clock=clock, politeness=Politeness(wait=2.0, per_visit=5, margin=0.0))
    one_of_each(plain, clock)
    plain.commits.commit(marks={})
    expected = remembered(tmp_path / "plain.log")
    assert expected[0] == 2
    assert [name for name, _, robots in expected[1] if robots] == ["www.a.example"]
    assert remembered(put_all_away(make, tmp_path, monkeypatch, folded=folded)) == expected


def test_shelf__is_not_forgotten_without_a_bound(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crawl with groups on the shelf that goes on without a bound says so, and changes nothing."""
    path = put_all_away(make, tmp_path, monkeypatch)
    frontier = make(path=path)
    with pytest.raises(WeftError, match="--memory"):
        frontier.commits.recover()


def test_runs__say_what_their_pieces_say() -> None:
    """Joined in any order of joins, runs have what counts: all behind the last word that a group is back."""
    chance = random.Random(3)
    model: dict[int, list[tuple[int, int, bytes]]] = {}
    runs: list[list[Pieces]] = []
    for number in range(1, 12):
        rows = []
        for _ in range(40):
            key, kind = chance.randrange(1 << 64) % 97, chance.choice((WHOLE, MAIL, MAIL, BACK))
            if kind == BACK:
                rows.append((key, number - 1, BACK, b""))
                model[key] = [each for each in model.get(key, []) if each[0] > number - 1]
            else:
                data = chance.randbytes(chance.randrange(40))
                rows.append((key, number, kind, data))
                model.setdefault(key, []).append((number, kind, data))
        runs.append([pieces_of(rows)])
        if chance.random() < 0.5 and len(runs) > 2:
            start = chance.randrange(len(runs) - 1)
            tail = [iter(run) for run in runs[start:]]
            runs[start:] = [list(joined(tail, all_there=start == 0))]
    found: dict[int, list[tuple[int, int, bytes]]] = {}
    for some in joined([iter(run) for run in runs], all_there=True):
        at = 0
        for row in some.table:
            data = bytes(some.data[at : at + int(row["length"])])
            at += int(row["length"])
            found.setdefault(int(row["key"]), []).append((int(row["checkpoint"]), int(row["kind"]), data))
    assert found == {key: each for key, each in model.items() if each}


def test_shelf__finds_one_group_without_reading_all(make: Make, tmp_path: Path) -> None:
    """What a lookup gives is what a pass over everything gives."""
    path = tmp_path / "some" / "frontier.log"
    crawl(make, path, "breadth-first", SMALL)
    log = FrontierLog(path, read_only=True)
    with closing(log):
        assert log.base is not None
        assert log.first > 0  # the segments of what was put away are gone
        shelf = Shelf(log.base)
        groups = dict(shelf.groups())
        assert len(groups) > GROUPS // 2
        assert {key: shelf.pieces(key) for key in groups} == groups
        assert shelf.pieces(12345) == []
        past = Past(log)
        for replayed in log.replay():
            past.take(replayed)
        assert {group for group, _ in on_shelf(past, log)}.isdisjoint(past.groups)


def test_memory__is_given_back() -> None:
    """What was before the first number in use takes no memory any more, and is zeros."""

    def resident() -> int:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) << 10

    array = reserve(1 << 25, np.uint64)
    array[:] = 7
    before = resident()
    release(array, 0, 3 << 23)
    assert before - resident() > 150 << 20
    assert not array[: (3 << 23) - 1024].any()
    assert (array[3 << 23 :] == 7).all()


def test_memory__too_small_or_for_nothing_is_refused(tmp_path: Path) -> None:
    """What cannot be done is said before anything is: too little memory, and an ordering that needs all links."""
    with pytest.raises(UsageError, match="600"):
        Settings().with_values({"memory": "100MB"}, where="a test")
    settings = Settings().with_values({"memory": "1GB", "ordering": "batch"}, where="a test")
    with pytest.raises(UsageError, match="all in memory"):
        check_parts(Plan(seeds=["http://a.example/"], out=tmp_path, settings=settings))


def test_bound__counts_what_memory_is_taken_by() -> None:
    """More of anything is more of the bound, and nothing is left beyond it."""
    bound = bound_of(1_000_000_000, known=None, most=1 << 27, scored=True)
    used = [bound.use(*each) for each in ((10**6, 0, 0, 0), (10**6, 10**5, 0, 0), (10**6, 10**5, 10**4, 10**6))]
    assert used == sorted(set(used))
    assert bound.room(used[-1]) < bound.room(used[0])
    assert bound.use(10**8, 0, 0, 0) > 1
    assert bound.room(1.5) == 0
