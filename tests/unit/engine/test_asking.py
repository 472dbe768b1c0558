"""How often, and when, a robots.txt is asked for that is elsewhere, cut or dead: the loop on a virtual clock, with the
pauses that a crawl has by default. The network is a script.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
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
from weft.fetch.headers import parse_head
from weft.fetch.transport import Connection, Request
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import Terms
from weft.frontier.local.visit import Visit
from weft.frontier.overrides import Overrides
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.rules import FOUND, candidate, first_refusal
from weft.frontier.scope import Selection
from weft.model import Kind, Page, Reason, SiteNumber
from weft.ordering.breadth_first import BreadthFirst
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.store.store import Store
from weft.store.volumes import Storing
from weft.urls import UrlRules

Said = tuple[int, str, bytes] | Reason
"""A status, where it redirects to, and a body; or why nothing came."""

OK: Said = (200, "", b"page")
NONE: Said = (404, "", b"")
WAIT = 2.0


class ScriptedNetwork(PlainNames):
    """Every name has the same address, every URL its answer at once; what was asked for, and when, is written down."""

    def __init__(self, answers: dict[str, Said], clock: VirtualClock) -> None:
        self.answers = answers
        self._clock = clock
        self.asked: list[tuple[float, str]] = []
        self.addresses: dict[str, str] = {}
        self.on_asked: Callable[[], None] = lambda: None

    def resolve(self, host: str) -> Ask[Answer]:
        """An address of its own, or the one that a script gives."""
        address = self.addresses.get(host, f"192.0.2.{1 + sum(host.encode()) % 200}")
        return Ask(lambda done: done(Answer((address,), None, 1e9)))

    def connect(self, visit: Visit, address: str, answered: Callable[[], None] | None) -> Connection:
        """Nothing is opened."""
        return Connection(visit.site.host, 80, address, verify=False, answered=answered)

    def fetch(self, connection: Connection, request: Request) -> Ask[Page | None]:
        """The answer of the script; a page where there is none."""
        del connection
        self.asked.append((self._clock.now(), request.url))
        self.on_asked()
        said = self.answers.get(request.url, NONE if request.url.endswith("/robots.txt") else OK)
        reason = said if isinstance(said, Reason) else None
        status, target, body = (0, "", b"") if isinstance(said, Reason) else said
        lines = [b"HTTP/1.1 %d Status\r\n" % status, b"Content-Type: text/html\r\n"]
        lines += [f"Location: {target}\r\n".encode()] if target else []
        _, head, headers = parse_head([*lines, b"\r\n"]) if status else (0, b"", {})
        now = self._clock.wall()
        closed = reason is not None
        page = Page(request.url, status, reason, b"", head, headers, body, "", "192.0.2.1", "", now, now, 0.0, closed)
        return Ask(lambda done: done(page))

    def close(self, connection: Connection) -> None:
        """Nothing to close."""


class Crawl:
    """One worker's loop, which jumps from event to event."""

    def __init__(self, folder: Path, answers: dict[str, Said], **selection: Any) -> None:
        self.clock = clock = VirtualClock(1000.0)
        politeness = Politeness(wait=WAIT, connections=100, margin=0.0)
        self.frontier = LocalFrontier(
            Terms(
                ordering=BreadthFirst(),
                politeness=politeness,
                selection=Selection(**({"scope": "all"} | selection)),
                retries=Retries(),
                overrides=Overrides(),
                rules=UrlRules(),
                agent="weft",
                secret=bytes(16),
                capacity=1 << 14,
            ),
            path=folder / "frontier.log",
            clock=clock,
        )
        self.network = ScriptedNetwork(answers, clock)
        self.events: list[Event] = []
        bus = Bus()
        bus.subscribe(self.events.append)
        self.marker = Marker(folder / "reading")
        self.failures: list[BaseException] = []
        apart: Any = None
        self.loop = Loop(
            Wires(
                clock=clock,
                network=self.network,
                frontier=self.frontier,
                parser=Parser(Reading(), "weft"),
                apart=apart,
                marker=self.marker,
                store=Store(folder, Storing(), info={}, chance=random.Random(0)),
                asker=Asker("weft", self.frontier.scope.wanted, max_bytes=10**6, encodings=""),
                gate=Gate(Identity(contact="mailto:me@example.org", allow_address=("192.0.2.0/24",)), ()),
                bus=bus,
                progress=Progress(clock),
                politeness=politeness,
                application=None,
                verify_tls=False,
            ),
            self.failures.append,
            lambda: None,
        )

    def run(self, *seeds: str, most: float = 100_000.0) -> None:
        """Crawl until nothing is left, what was set aside included; or until so much time has passed."""
        for seed in seeds:
            assert self.frontier.add_seed(seed) is None
        end = self.clock.now() + most
        self.loop.pump()
        while self.clock.now() < end and len(self.network.asked) < 1000:
            if self.frontier.schedule.stalled:
                if not self.frontier.schedule.aside:
                    return
                self.frontier.schedule.second_pass(self.clock.now())
            else:
                at = self.frontier.next_event()
                self.clock.move_to(max(self.clock.now() + 1e-6, at or 0.0))
            self.loop.pump()
        pytest.fail(f"it does not end: {len(self.network.asked)} requests, {self.frontier}")

    def when(self, url: str) -> list[float]:
        """When a URL was asked for, from the beginning on."""
        return [round(at - 1000.0, 3) for at, asked in self.network.asked if asked == url]

    def reasons(self, url: str) -> set[Reason | None]:
        """What came of a URL."""
        outcomes = [event.outcome for event in self.events if isinstance(event, Fetched)]
        return {outcome.reason for outcome in outcomes if outcome.turn.url == url}


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Callable[..., Crawl]]:
    """Makes crawls."""
    made: list[Crawl] = []

    def build(answers: dict[str, Said], **selection: Any) -> Crawl:
        made.append(Crawl(tmp_path, answers, **selection))
        return made[-1]

    yield build
    for each in made:
        each.loop.drop()
        each.marker.close()
        each.frontier.close()
        assert each.failures == []


A, B = "http://a.example/robots.txt", "http://b.example/robots.txt"
PAUSES = (60.0, 600.0)


@pytest.mark.parametrize(
    "answer",
    [Reason.CONNECT_REFUSED, Reason.TIMEOUT, (503, "", b"")],
    ids=["refused", "silent", "out of order"],
)
def test_robots__that_cannot_be_had_elsewhere_is_tried_with_the_usual_pauses(
    crawl: Callable[..., Crawl], answer: Said
) -> None:
    """As if the site itself were dead: after a minute, after ten, once more in the end; and then it is given up."""
    run = crawl({A: (301, B, b""), B: answer})
    run.run("http://a.example/")
    first, second, third, last = run.when(A)
    assert len(run.when(B)) == 4
    assert second - first >= PAUSES[0]
    assert third - second >= PAUSES[1]
    assert last - third >= WAIT
    assert last < 2000
    assert run.when("http://a.example/") == []
    assert run.frontier.discovery.refused[Reason.SITE_FAILED] == 1
    assert run.frontier.schedule.done


def test_robots__behind_a_special_address_is_tried_with_the_usual_pauses(crawl: Callable[..., Crawl]) -> None:
    """Nothing is asked for there, and the log has the reason."""
    run = crawl({A: (301, B, b"")})
    run.network.addresses["b.example"] = "10.0.0.1"
    run.run("http://a.example/")
    assert run.when(B) == []
    assert run.reasons(B) == {Reason.DNS_SPECIAL}
    assert len(run.when(A)) == 4
    assert run.when(A)[1] >= PAUSES[0]
    assert run.frontier.discovery.refused[Reason.SITE_FAILED] == 1


@pytest.mark.parametrize("pauses", [(), (0.0,)])
def test_robots__that_cannot_be_had_is_no_hot_loop(tmp_path: Path, pauses: tuple[float, ...]) -> None:
    """Also where nothing is waited for at all."""
    run = Crawl(tmp_path, {A: (301, B, b""), B: Reason.CONNECT_REFUSED})
    run.frontier._pauses = pauses
    run.frontier._politeness = run.frontier.schedule._politeness = Politeness(wait=0.0, margin=0.0)
    run.run("http://a.example/")
    assert len(run.when(A)) == len(pauses) + 2
    run.marker.close()
    run.frontier.close()


def test_robots__of_the_same_site_by_tls_is_asked_for_after_one_wait(crawl: Callable[..., Crawl]) -> None:
    """Once more when it is due again, and not after a patience of minutes."""
    secure = "https://a.example/robots.txt"
    run = crawl({A: (301, secure, b""), secure: (200, "", b"User-agent: *\nDisallow: /no")})
    run.run("http://a.example/")
    assert run.when(A) == [0.0]
    assert run.when(secure) == [WAIT]
    assert run.when("http://a.example/") == [2 * WAIT]
    run.clock.advance(90_000.0)
    run.run("http://a.example/later", "http://a.example/no")
    later = run.when(A)[1]
    assert run.when(secure)[1] == later + WAIT
    assert run.when("http://a.example/later") == [later + 2 * WAIT]
    assert run.when("http://a.example/no") == []


def test_robots__of_both_schemes_is_had_by_one_redirect(crawl: Callable[..., Crawl]) -> None:
    """What lies where a site's own file lies is that file: it is not asked for twice."""
    secure = "https://a.example/robots.txt"
    run = crawl({A: (301, secure, b""), secure: (200, "", b"")})
    run.run("http://a.example/", "https://a.example/")
    assert len(run.when(secure)) == 1
    assert run.when("https://a.example/") != []


def test_sites__that_wait_for_each_others_robots_do_not_wait_for_ever(crawl: Callable[..., Crawl]) -> None:
    """A site that is held runs errands for others all the same; a circle is as good as no file."""
    run = crawl({A: (301, B, b""), B: (301, A, b"")})
    run.run("http://a.example/", "http://b.example/", most=250.0)
    assert run.when("http://a.example/") != []
    assert run.when("http://b.example/") != []


def test_site__that_waits_in_vain_rests_as_one_that_failed(crawl: Callable[..., Crawl]) -> None:
    """Whoever was to bring its robots.txt is gone: it is asked anew with the usual pauses, and given up in the end."""
    run = crawl({A: (301, B, b"")})
    run.frontier.holdings.alone = False
    run.frontier.holdings.check_out("a.example")
    run.frontier.add_seed("http://a.example/")
    run.loop.pump()
    for _ in range(40):
        run.frontier.holdings.notices.clear()  # they go to another worker, which never answers
        at = run.frontier.next_event()
        if at is None:
            break
        run.clock.move_to(max(run.clock.now(), at))
        run.loop.pump()
    assert len(run.when(A)) == 3
    assert run.frontier.schedule.aside == 1


def test_site__that_waits_for_another_does_not_wait_in_vain_while_nobody_can_be_reached(
    crawl: Callable[..., Crawl],
) -> None:
    """The time without a network does not count: nobody could have brought its robots.txt."""
    run = crawl({A: (301, B, b"")})
    run.frontier.holdings.alone = False
    run.frontier.holdings.check_out("a.example")
    run.frontier.add_seed("http://a.example/")
    run.loop.pump()
    schedule, site = run.frontier.schedule, run.frontier.sites[SiteNumber(0)]
    assert (site.held, site.failures) == (True, 0)
    schedule.wait_for_network()
    run.clock.move_to(run.clock.now() + 3600.0)
    assert run.frontier.visit() is None
    schedule.network_is_back(3600.0)
    assert run.frontier.visit() is None
    assert (site.held, site.failures) == (True, 0)
    run.clock.move_to(run.clock.now() + 301.0)
    assert run.frontier.visit() is None
    assert (site.held, site.failures) == (False, 1)


def test_errands__of_many_sites_to_a_dead_one_are_given_up_together(crawl: Callable[..., Crawl]) -> None:
    """One failed connection tells all of them; none waits for the pauses of the other site on top of its own."""
    owners = [f"http://s{number}.example/" for number in range(20)]
    run = crawl({f"{owner}robots.txt": (301, B, b"") for owner in owners} | {B: Reason.CONNECT_REFUSED})
    run.run(*owners)
    assert len(run.when(B)) <= 20
    for owner in owners:
        # Once more where it was asked whether anybody answers at all.
        assert 4 <= len(run.when(f"{owner}robots.txt")) <= 5
    assert run.frontier.discovery.refused[Reason.SITE_FAILED] == 20


def test_redirect__to_a_blacklisted_host_is_not_followed_by_robots(crawl: Callable[..., Crawl]) -> None:
    """The operator has forbidden it: nothing at all is asked for there."""
    from weft.frontier.blacklist import Blacklist

    run = crawl({A: (301, "http://www.black.example/robots.txt", b"")})
    run.frontier.scope.blacklist = Blacklist(["*.black.example"])
    run.run("http://a.example/")
    assert {url for _, url in run.network.asked} == {A}
    assert run.reasons(A) == {Reason.BLACKLISTED}


def test_redirects__are_counted_along_the_chain_across_a_restart(crawl: Callable[..., Crawl], tmp_path: Path) -> None:
    """How long it is stands in the log, with each page."""
    answers: dict[str, Said] = {
        f"http://h{number}.example/": (302, f"http://h{number + 1}.example/", b"") for number in range(30)
    }
    run = crawl(answers, scope="list")
    run.frontier.add_seed("http://h0.example/")
    run.network.on_asked = lambda: setattr(run.loop, "stopping", len(run.network.asked) >= 9)
    run.loop.pump()
    run.frontier.commits.commit(marks={}, clean=True)
    before = len([url for _, url in run.network.asked if not url.endswith(".txt")])
    again = Crawl(tmp_path, answers, scope="list")
    again.frontier.commits.recover()
    again.run()
    after = len([url for _, url in again.network.asked if not url.endswith(".txt")])
    assert 0 < before < 11
    assert before + after == 11
    assert again.frontier.discovery.refused[Reason.CHAIN] == 1
    again.marker.close()
    again.frontier.close()


def test_chain__is_told_by_its_kind(crawl: Callable[..., Crawl]) -> None:
    """Redirects have a setting of their own; ten of them come before a link that starts anew."""
    run = crawl({}, max_redirects=2)
    scope = run.frontier.scope
    asked = ((Kind.REDIRECT, 2), (Kind.REDIRECT, 3), (Kind.MAP, 5), (Kind.STYLE, 6), (Kind.A, 200))
    said = [first_refusal(FOUND, scope, candidate("http://a.example/x", kind, 0, steps)) for kind, steps in asked]
    assert said == [None, Reason.CHAIN, None, Reason.CHAIN, None]
