"""What a global frontier must do that several nodes share. One that is a file has a single node."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.contract import peers
from tests.contract.peers import Peer, domains, seeds_of, to
from tests.siege import wait_until

from weft.clock import SystemClock, VirtualClock
from weft.errors import WeftError
from weft.frontier.durable.parcels import Content, SiteParcel, packed, unpacked
from weft.frontier.shared import postgres_base, postgres_making
from weft.frontier.shared.address import address_in
from weft.frontier.shared.contract import Batch, FrontierAwayError, Limits, Parcel
from weft.frontier.shared.nodes import CONTRACT, PER_NODE, Keep, LostNodeError
from weft.frontier.shared.opening import nodes_of
from weft.frontier.shared.postgres import PostgresFrontier
from weft.frontier.shared.postgres_base import PostgresBase, do

Open = Callable[[int | None], PostgresFrontier]
SECOND = PER_NODE  # the first worker of the second node


class Place:
    """A crawl in a database, for nodes to open."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.open: list[PostgresFrontier] = []

    def node(self, number: int | None, workers: int = 1, **limits: Any) -> PostgresFrontier:
        """Open it as a node, whose run begins; None: as nobody."""
        frontier = PostgresFrontier(address_in(self.place), peers.CRAWL, node=number)
        self.open.append(frontier)
        if number is not None:
            frontier.prepare(workers, Limits(**limits))
        return frontier


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A crawl of three seeds."""
    where = peers.created("postgres", tmp_path, by_size=False, seeds=seeds_of("a", "b", "c"))
    made = Place(where)
    yield made
    for frontier in made.open:  # no other test has this schema: a crawl of several nodes is not replaced
        frontier.close()


def round_of(peer: Peer, number: int, since: int = 0, **changes: Any) -> Keep:
    """A round of parcels of a peer's groups."""
    stands: dict[str, Any] = {"taken": peer.taken, "pages": 7, "statistics": b"", "batches": [], "parcels": []}
    return Keep(worker=peer.number, number=number, since=since, **(stands | changes))


def parcel(group: str, pending: int = 1) -> Parcel:
    """A parcel with one site."""
    return Parcel(group, pending, packed(Content([SiteParcel(group)])))


# --- joining and leaving ---


def test_file__has_one_node(tmp_path: Path) -> None:
    """Whose workers have the numbers from 0 on, as ever."""
    peers.created("sqlite", tmp_path, by_size=False, seeds=seeds_of("a"))
    frontier = peers.opened("sqlite", str(tmp_path), VirtualClock(1e9))
    assert frontier.first == 0
    assert nodes_of(frontier) is None
    frontier.close()


def test_node__that_joins_has_a_number_of_its_own(place: Place) -> None:
    """And so have its workers, ten thousand to each node; each sees its own, and who asks sees all."""
    nobody = place.node(None)
    assert [nobody.join("here"), nobody.join("there")] == [0, 1]
    first, second = place.node(0, 2), place.node(1, 3)
    assert [each.number for each in first.workers()] == [0, 1]
    assert [each.number for each in second.workers()] == [SECOND, SECOND + 1, SECOND + 2]
    assert len(first.workers(everywhere=True)) == 5
    assert (first.state().workers, second.state().workers) == (2, 3)
    assert place.node(None).state().workers == 5
    assert [(each.name, each.state) for each in nobody.nodes()] == [("here", "silent"), ("there", "silent")]
    second.resize(1)
    assert [each.in_run for each in first.workers(everywhere=True)] == [True, True, True, False, False]
    assert first.surplus() == second.surplus() == []


def test_run__of_a_node_that_comes_later_is_part_of_the_run(place: Place) -> None:
    """While another node crawls nothing that was said is forgotten: neither limits, nor that it is over."""
    first = place.node(0, max_pages=100)
    one = Peer(first, 0)
    one.exchange(lease=3600.0)
    first.stop("stopped")
    one.exchange(lease=3600.0)
    second = place.node(1)
    assert second.state().over == "stopped"
    assert Peer(second, SECOND).exchange().over == "stopped"
    one.exchange(lease=0.0)
    third = place.node(2)
    assert third.state().over == "", "nobody crawls any more: another run begins"


def test_crawl__is_done_when_the_workers_of_all_nodes_are_idle(place: Place) -> None:
    """One that has nothing to do waits for those of other nodes."""
    one, two = Peer(place.node(0), 0), Peer(place.node(1), SECOND)
    one.exchange(wants=9)
    two.exchange(wants=9)
    one.exchange(wants=9)
    assert one.exchange(idle=True).over == ""
    assert two.exchange(idle=True).over == "done"


def test_end__of_a_node_is_not_that_of_the_crawl(place: Place) -> None:
    """Unless no other node crawls."""
    first, second = place.node(0), place.node(1)
    one, two = Peer(first, 0), Peer(second, SECOND)
    one.exchange(lease=3600.0)
    two.exchange(lease=3600.0)
    first.end("terminated")
    assert second.state().over == ""
    one.exchange(lease=0.0)
    second.end("terminated")
    assert second.state().over == "terminated"


def test_leaving__is_asked_for_by_anybody(place: Place) -> None:
    """The node hears of it with its next sign of life; one that is not there is none."""
    first = place.node(0)
    assert first.hear_node() == (False, False)
    nobody = place.node(None)
    assert nobody.ask_to_leave(0)
    assert not nobody.ask_to_leave(5)
    assert first.hear_node() == (True, False)
    first.leave()
    assert first.nodes()[0].state == "left"
    assert not nobody.ask_to_leave(0)


def test_crawl__that_other_nodes_share_is_not_replaced(place: Place) -> None:
    """A repair of one directory must not cost the others what they have."""
    place.node(0)
    place.node(1)
    with pytest.raises(WeftError, match="other nodes have groups of this crawl: 1"):
        postgres_making.create(address_in(place.place), peers.CRAWL, by_size=False, seeds=[], node=0)


# --- parcels of what is held, and nodes that are lost ---


def test_lost_node__gives_its_groups_as_they_were_kept(place: Place) -> None:
    """With its last parcel, what came for it since, and batches that nobody had heard of; the node itself is fenced
    off, and its pages are those of the parcels.
    """
    first, second = place.node(0), place.node(1)
    one = Peer(first, 0)
    one.exchange(wants=9)
    assert one.groups == domains("a", "b")
    unheard = Batch(1, notices={"x.example": [to("http://x.example/")]})
    kept = [parcel("a.example"), parcel("b.example", 0)]
    assert first.keep(round_of(one, 1, batches=[unheard], parcels=kept))
    first.add(["http://b.example/later"])
    one.exchange(pages=50)
    one.exchange(settled=one.taken)
    (lost,) = second.lose(0.0, beyond=0.0, rest=0.0)
    assert (lost.node, lost.groups) == (0, 2)
    with pytest.raises(LostNodeError, match="joins as a new node"):
        one.exchange()
    with pytest.raises(LostNodeError):
        Peer(first, 0)
    with pytest.raises(LostNodeError):
        first.prepare(1, Limits())
    two = Peer(second, SECOND)
    for _ in range(5):
        two.exchange(wants=9)
    assert set(two.groups) == set(domains("a", "b", "c", "x"))
    assert "http://b.example/later" in two.urls
    assert "http://x.example/" in two.urls
    assert [unpacked(each.content).clean for each in two.parcels] == [False, False], (
        "its sites rest: they may have been visited"
    )
    stood = second.nodes()
    assert [each.state for each in stood] == ["lost", "silent"]
    assert stood[0].pages == 7, "pages since the parcel count in no result"
    assert first.kept(0) == 1, "where its rows stop counting, if it comes back"


def test_lost_node__without_a_round_gives_its_groups_as_it_got_them(place: Place) -> None:
    """They are in its inbox still, however settled they were in its log."""
    first, second = place.node(0), place.node(1)
    one = Peer(first, 0)
    one.exchange(wants=9)
    one.exchange(settled=one.taken)
    second.lose(0.0, beyond=0.0, rest=0.0)
    two = Peer(second, SECOND)
    for _ in range(3):
        two.exchange(wants=9)
    assert set(two.groups) == set(domains("a", "b", "c"))
    assert set(two.urls) == set(seeds_of("a", "b", "c"))


def test_silent_node__is_waited_for_as_long_as_its_lease_and_longer(place: Place) -> None:
    """Nobody has its groups before it can visit nobody any more, and before it was silent long enough."""
    first, second = place.node(0), place.node(1)
    one = Peer(first, 0)
    one.exchange(wants=9, lease=3600.0)
    assert second.lose(0.0, beyond=0.0, rest=0.0) == [], "it may visit them"
    one.exchange(lease=0.0)
    assert second.lose(3600.0, beyond=0.0, rest=0.0) == [], "it was heard just now"
    assert second.lose(0.0, beyond=3600.0, rest=0.0) == [], "a page may be under way"
    assert second.held(0) == set(domains("a", "b"))


def test_round__counts_as_a_whole_and_once(place: Place) -> None:
    """One that another overtook changes nothing; what a round does not have stays as the one before had it."""
    first, second = place.node(0), place.node(1)
    one = Peer(first, 0)
    one.exchange(wants=9)
    assert first.keep(round_of(one, 3, parcels=[parcel("a.example", 3), parcel("b.example", 3)]))
    assert first.keep(round_of(one, 5, since=3, parcels=[parcel("b.example", 5)]))
    assert not first.keep(round_of(one, 4, since=3, parcels=[parcel("a.example", 4)])), "it is late"
    second.lose(0.0, beyond=0.0, rest=0.0)
    two = Peer(second, SECOND)
    for _ in range(3):
        two.exchange(wants=9)
    assert {each.group: each.pending for each in two.parcels} == {"a.example": 3, "b.example": 5}


def test_process__that_is_frozen_in_a_pipeline_keeps_no_lock_for_ever(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the server it is not idle: whoever waits for what it holds ends its session, when it was silent for long."""
    place.node(0)
    address = address_in(place.place)
    monkeypatch.setattr(postgres_base, "SILENT", 3600.0)
    frozen = psycopg.connect(address.uri, autocommit=True, application_name="weft")
    piping = ExitStack()
    piping.enter_context(frozen.pipeline())
    frozen.execute("begin")
    frozen.execute(sql.SQL("update {} set speed = 'none'").format(sql.Identifier(address.schema, "crawl")))
    while frozen.pgconn.flush():
        pass
    told: list[str] = []
    with closing(PostgresBase(address, 0.3)) as other:
        wait_until(lambda: _is_held(other, told), "nothing is locked")
        monkeypatch.setattr(postgres_base, "SILENT", 0.01)
        wait_until(lambda: not _is_held(other, told), "it is held for ever")
    assert "and are ended: 1" in told[-1], "nobody is told"
    with pytest.raises(psycopg.OperationalError):  # its session is gone
        piping.close()


def test_process__that_copies_is_given_longer(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server waits for its rows all the time, and does not say whether any come."""
    place.node(0)
    address = address_in(place.place)
    monkeypatch.setattr(postgres_base, "SILENT", 3600.0)
    table = sql.Identifier(address.schema, "crawl")
    sending = psycopg.connect(address.uri, application_name="weft")
    sending.execute(sql.SQL("update {} set speed = 'none'").format(table))
    copying = ExitStack()
    copying.enter_context(sending.cursor().copy(sql.SQL("copy {} (id) from stdin").format(table)))
    began = time.monotonic()
    told: list[str] = []
    with closing(PostgresBase(address, 0.3)) as other:
        while time.monotonic() < began + 2:
            assert _is_held(other, told)
        monkeypatch.setattr(postgres_base, "SILENT", (time.monotonic() - began) / 2)
        assert _is_held(other, told)
        assert "are ended" not in told[-1]
        monkeypatch.setattr(postgres_base, "SILENT", 0.001)
        wait_until(lambda: not _is_held(other, told), "it is held for ever")
    with pytest.raises(psycopg.OperationalError):  # its session is gone
        copying.close()
    assert "and are ended: 1" in told[-1], "nobody is told"


def _is_held(base: PostgresBase, told: list[str]) -> bool:
    try:
        base.in_one_step(lambda held: do(held, "stop", why=""))
    except FrontierAwayError as error:
        told.append(error.what)
        return True
    return False


# --- versions ---


def test_contract__of_another_version_is_refused(place: Place) -> None:
    """With what to do; `upgrade` has the crawl go on with ours."""
    node = place.node(0)
    node.leave()
    node.close()
    address = address_in(place.place)
    with psycopg.connect(address.uri, autocommit=True) as base:
        for contract, match in ((CONTRACT + 1, "go on here with that version"), (CONTRACT - 1, "weft cluster upgrade")):
            table = sql.Identifier(address.schema, "crawl")
            base.execute(sql.SQL("update {} set contract = {}").format(table, contract))
            with pytest.raises(WeftError, match=match):
                place.node(0)
    said: list[str] = []
    assert postgres_making.upgrade(address, 1.0, SystemClock(), said.append) == []
    assert said == []
    assert place.node(0).state().over == ""


def test_upgrade__waits_until_nobody_can_visit(place: Place) -> None:
    """A worker with a lease is told to end; while it has one, or its node hands over, nothing is changed."""
    first = place.node(0)
    one = Peer(first, 0)
    one.exchange(lease=3600.0)
    said: list[str] = []
    with pytest.raises(WeftError, match="these workers may still visit: 0; nothing was changed"):
        postgres_making.upgrade(address_in(place.place), 0.1, SystemClock(), said.append)
    assert said == ["all nodes are told to end their runs"]
    assert one.exchange(lease=0.0).over == "upgrade"
    with pytest.raises(WeftError, match="these nodes have not ended their runs: 0; nothing was changed"):
        postgres_making.upgrade(address_in(place.place), 0.1, SystemClock(), said.append)
    first.leave()
    postgres_making.upgrade(address_in(place.place), 0.1, SystemClock(), said.append)
    assert first.state().over == ""
