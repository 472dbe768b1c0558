"""The loop on a virtual clock, with many connections and real waits: it visits pages in the simulator's order.

Only the network is a script: every page takes a time of its own, so that no two finish at one instant (at one instant
the simulator starts nothing before all pages that finish are worked off; live, that is a matter of chance).
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.crawling import make_web
from tests.scripted import PlainNames

from weft.clock import VirtualClock
from weft.engine.asker import Asker
from weft.engine.drive import Ask
from weft.engine.gate import Gate, Identity
from weft.engine.loop import Loop
from weft.engine.marker import Marker
from weft.engine.progress import Progress
from weft.engine.wires import Wires
from weft.events import Bus, Event, Fetched
from weft.fetch.dns import Answer
from weft.fetch.transport import Connection, Request
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import Terms
from weft.frontier.local.visit import Visit
from weft.frontier.overrides import Overrides
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Selection
from weft.model import Kind, Page, Parsed
from weft.ordering import Ordering, Scored, ordering_named, ordering_names
from weft.ordering.known import Known
from weft.ordering.reranking import Reranking
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.sim.run import Conditions, simulate
from weft.sim.times import PageTimes
from weft.store.store import Store
from weft.store.volumes import Storing
from weft.testbed.options import PLAIN
from weft.testbed.web import Web
from weft.urls import UrlRules

RERANKINGS = 12  # in a crawl
CONNECTIONS, WAIT = 8, 3.0
WITHOUT_ORACLE = [name for name in ordering_names() if not ordering_named(name).needs]


class Fewest(Scored):
    """Somebody else's ordering, in plain Python: pages that were found on pages with few links first."""

    name = "fewest"

    def found(self, known: Known, page: Any, parent: int, out: int) -> Any:
        """A page is worth what the page gives it on which it was found."""
        del known, page, parent
        return 1.0 if out == 0 else 1.0 / out

    def linked(self, known: Known, page: Any, parent: int, out: int) -> Any:
        """And a little more for every further link."""
        del parent
        return known.score[page] + 0.01 / out


class ScriptedNetwork(PlainNames):
    """Every site has an address of its own; every page takes its time."""

    def __init__(self, web: Web, latency: np.ndarray[Any, np.dtype[np.float32]], clock: VirtualClock) -> None:
        self._web = web
        self._latency = latency
        self._clock = clock
        self._numbers = count()
        self.later: list[tuple[float, int, Callable[[Page | None], None], Page]] = []

    def resolve(self, host: str) -> Ask[Answer]:
        """An address from the host's number."""
        number = int(host.split("-")[1].split(".", maxsplit=1)[0])
        return Ask(lambda done: done(Answer((f"198.18.{number // 250}.{number % 250 + 1}",), None, 1e9)))

    def connect(self, visit: Visit, address: str, answered: Callable[[], None] | None) -> Connection:
        """Nothing is opened."""
        return Connection(visit.site.host, 80, address, verify=False, answered=answered)

    def fetch(self, connection: Connection, request: Request) -> Ask[Page | None]:
        """The page, later."""
        number = self._web.page(request.url)
        assert number is not None
        took = float(self._latency[number])
        now = self._clock.now()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
        page = Page(
            request.url,
            200,
            None,
            b"GET / HTTP/1.1\r\n\r\n",
            head,
            {"content-type": "text/html"},
            b"%d" % number,
            "",
            connection.address,
            "",
            now,
            now,
            took,
            closed=False,
        )
        return Ask(lambda done: heapq.heappush(self.later, (now + took, next(self._numbers), done, page)))

    def close(self, connection: Connection) -> None:
        """Nothing to close."""


class ScriptedParser(Parser):
    """Knows the links of every page."""

    def __init__(self, web: Web) -> None:
        super().__init__(Reading(), "weft")
        self._web = web

    def parse(self, page: Page, kind: int) -> Parsed:
        """The graph's links."""
        del kind
        number = int(page.body)
        links = [(self._web.url(target), int(Kind.A)) for target in self._web.graph.links_of(number).tolist()]
        return Parsed("text/html", "utf-8", "", "", page.url, links, [], follow=True, reason=None)


def crawl(folder: Path, web: Web, ordering: Ordering, latency: np.ndarray[Any, np.dtype[np.float32]]) -> list[int]:
    """The pages in the order in which the loop has them."""
    clock = VirtualClock(0.0)
    politeness = Politeness(wait=WAIT, per_visit=2, connections=CONNECTIONS, margin=0.0)
    frontier = LocalFrontier(
        Terms(
            ordering=ordering,
            politeness=politeness,
            selection=Selection(
                scope="all", robots="ignore", max_depth=1000, max_depth_dynamic=1000, max_site_pages=web.graph.pages
            ),
            retries=Retries(),
            overrides=Overrides(),
            rules=UrlRules(),
            agent="weft",
            secret=bytes(16),
            reranking=Reranking(pages=web.graph.pages // RERANKINGS),
            seed=5,
            capacity=1 << 14,
        ),
        path=folder / "frontier.log",
        clock=clock,
    )
    network = ScriptedNetwork(web, latency, clock)
    events: list[Event] = []
    bus = Bus()
    bus.subscribe(events.append)
    marker = Marker(folder / "reading")
    apart: Any = None
    failures: list[BaseException] = []
    loop = Loop(
        Wires(
            clock=clock,
            network=network,
            frontier=frontier,
            parser=ScriptedParser(web),
            apart=apart,
            marker=marker,
            store=Store(folder, Storing(), info={}, chance=random.Random(0)),
            asker=Asker("weft", frontier.scope.wanted, max_bytes=10**6, encodings=""),
            gate=Gate(Identity(contact="mailto:me@example.org", allow_address=("198.18.0.0/15",)), ()),
            bus=bus,
            progress=Progress(clock),
            politeness=politeness,
            application=None,
            verify_tls=False,
        ),
        failures.append,
        lambda: None,
    )
    for page in web.graph.seeds.tolist():
        assert frontier.add_seed(web.url(page)) is None
    loop.pump()
    while True:
        instants = [network.later[0][0]] if network.later else []
        if loop.active < CONNECTIONS and (opens := frontier.next_event()) is not None:
            instants.append(opens)
        if not instants:
            break
        clock.move_to(max(clock.now(), min(instants)))
        while network.later and network.later[0][0] <= clock.now():
            _, _, done, page = heapq.heappop(network.later)
            done(page)
        loop.pump()
    assert failures == []
    frontier.close()
    marker.close()
    return [int(event.outcome.page.body) for event in events if isinstance(event, Fetched)]


@pytest.fixture(scope="module", params=[1250, pytest.param(5000, marks=pytest.mark.soak)])
def web(request: pytest.FixtureRequest) -> Web:
    """A web whose sites share neither addresses nor domains."""
    pages: int = request.param
    return make_web(PLAIN, sites=60, pages=pages, largest=pages * 3 // 10, seed=4)


@pytest.mark.parametrize("ordering", [*WITHOUT_ORACLE, "fewest"])
def test_order__of_the_loop_is_that_of_the_simulator(tmp_path: Path, web: Web, ordering: str) -> None:
    """With eight connections, two pages a visit and waits between visits."""
    chosen = Fewest() if ordering == "fewest" else ordering_named(ordering)
    rng = np.random.default_rng(2)
    pages, sites = web.graph.pages, web.graph.sites
    latency = rng.uniform(0.05, 1.5, pages).astype(np.float32)
    times = PageTimes(latency, np.zeros(pages, np.float32), np.ones(sites, np.float32))
    rerank = pages // RERANKINGS
    conditions = Conditions(connections=CONNECTIONS, wait=WAIT, per_visit=2, kept_latency=1.0, rerank=rerank, seed=5)
    simulated = simulate(web.graph, chosen, conditions, times=times).order.tolist()
    live = crawl(tmp_path, web, chosen, latency)
    assert len(simulated) == pages
    parted = next((at for at, (one, other) in enumerate(zip(live, simulated, strict=False)) if one != other), None)
    assert parted is None, (parted, live[parted : parted + 5], simulated[parted : parted + 5])
    assert len(live) == pages
