"""An audit against crawlers that were made rude on purpose: each has one condition changed, and writes down what it
did as ever. All are found out, with the URL and the rule; the polite crawler, on the same site, is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.crawling import make_web, settings_for
from tests.small_site import Answer, Pages, SmallSite, links, small_site

from weft.app import run
from weft.audit import Audit, Finding, audit_crawl
from weft.clock import SystemClock
from weft.config import Settings
from weft.directory import Plan
from weft.engine import conclusion, outcome
from weft.frontier.blacklist import Blacklist
from weft.frontier.local import robots as robots_files
from weft.frontier.local import schedule
from weft.frontier.local.discovery import Discovery
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.robots import RobotsFiles
from weft.frontier.local.schedule import Schedule
from weft.frontier.politeness import Throttle
from weft.manage import managing
from weft.parse.robots import Robots, parse_robots
from weft.testbed.bed import serving
from weft.testbed.options import PLAIN

DAY = 86_400.0
SHARED = replace(PLAIN, sites_per_domain=12, sites_per_address=12)
Patch = pytest.MonkeyPatch


class JumpingClock(SystemClock):
    """A clock whose time of day can be put forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def wall(self) -> float:
        """The time of day."""
        return time.time() + self.ahead


def robots(*lines: str) -> Answer:
    """A robots.txt."""
    return Answer("\n".join(lines).encode(), "text/plain")


# The mutants: what is changed, in the crawler alone.


def ignore_disallow(patch: Patch) -> None:
    """Nothing is disallowed."""
    patch.setattr(Robots, "allows", lambda *_: True)


def take_the_first_rule(patch: Patch) -> None:
    """The first rule that matches decides, instead of the longest."""

    def allows(self: Robots, path: str) -> bool:
        return next((rule.allow for rule in self.rules if path.startswith(rule.pattern)), True)

    patch.setattr(Robots, "allows", allows)


def obey_another_group(patch: Patch) -> None:
    """The rules for another robot are obeyed."""
    patch.setattr(robots_files, "parse_robots", lambda body, _agent: parse_robots(body, "otherbot"))


def keep_robots_for_ever(patch: Patch) -> None:
    """A robots.txt is never asked for again."""
    patch.setattr(RobotsFiles, "due", lambda _self, site, scheme: scheme not in site.robots_at)


def ignore_crawl_delay(patch: Patch) -> None:
    """No crawl-delay is known."""
    note = RobotsFiles._note

    def without(self: RobotsFiles, site: Any, *others: Any) -> None:
        note(self, site, *others)
        site.crawl_delay = None

    patch.setattr(RobotsFiles, "_note", without)


def ask_on_in_spite_of_a_crawl_delay(patch: Patch) -> None:
    """The wait is kept between visits, and not between the pages of a visit."""
    patch.setattr(LocalFrontier, "per_visit", lambda *_: 10)


def ignore_retry_after(patch: Patch) -> None:
    """No server asks for a pause."""
    patch.setattr(outcome, "pause_of", lambda *_: 0.0)


def ask_for_ever(patch: Patch) -> None:
    """A connection is used on that the server will not answer on any more."""
    for room in (outcome, conclusion):
        patch.setattr(room, "keeps_open", lambda _page: True, raising=False)


def follow_nofollow(patch: Patch) -> None:
    """Links that ask not to be followed are links as any other, also in the columns."""
    follow = Discovery.follow

    def all_of_them(self: Discovery, site: Any, turn: Any, parsed: Any, **others: Any) -> Any:
        parsed = msgspec.structs.replace(parsed, links=[*parsed.links, *parsed.nofollow], nofollow=[])
        return follow(self, site, turn, parsed, **others)

    patch.setattr(Discovery, "follow", all_of_them)


def follow_closed_pages(patch: Patch) -> None:
    """What a page asks for in its meta tag is not heard."""
    follow = Discovery.follow

    def all_of_them(self: Discovery, site: Any, turn: Any, parsed: Any, **others: Any) -> Any:
        return follow(self, site, turn, msgspec.structs.replace(parsed, follow=True), **others)

    patch.setattr(Discovery, "follow", all_of_them)


def wait_for_nothing(patch: Patch) -> None:
    """No site rests, and that is what is written down."""
    patch.setattr(schedule, "wait_after", lambda *_: 0.0)


def forget_the_blacklist(patch: Patch) -> None:
    """No rule names anything."""
    patch.setattr(Blacklist, "names", lambda *_: False)


def visit_twice(patch: Patch) -> None:
    """A site that is being visited may be visited again."""
    begun = Schedule._begun

    def ready_again(self: Schedule, site: Any, *others: Any) -> Any:
        visit = begun(self, site, *others)
        self._heaps.set_ready(site.number)
        return visit

    patch.setattr(Schedule, "_begun", ready_again)


def count_no_connections(patch: Patch) -> None:
    """There is always a place free."""
    patch.setattr(Throttle, "free", lambda *_: True)


def keep_no_gap(patch: Patch) -> None:
    """An opening may follow at once upon another."""
    begin = Throttle.begin
    patch.setattr(Throttle, "begin", lambda self, connection, _gap: begin(self, connection, 0.0))


# Crawls of one small site.


@dataclass(frozen=True)
class Case:
    """A site, and a crawler that is rude to it."""

    mutant: Callable[[Patch], None]
    rule: str
    path: str
    says: str
    pages: Pages
    settings: dict[str, Any] = field(default_factory=dict)
    others: frozenset[str] = frozenset()  # rules that are broken with it


def _busy(_: Any) -> Answer:
    return Answer(status=503, headers=(("Retry-After", "1"),))


PRIVATE = {"/": links("/private/a", "/open"), "/private/a": b"x", "/open": b"y"}
CASES = {
    "disallow": Case(
        ignore_disallow,
        "disallowed",
        "/private/a",
        "Disallow: /private/ (line 2 of http://127.0.0.1:{port}/robots.txt)",
        {"/robots.txt": robots("User-agent: *", "Disallow: /private/"), **PRIVATE},
    ),
    "wrong-rule": Case(
        take_the_first_rule,
        "disallowed",
        "/a/b/c",
        "Disallow: /a/b/ (line 3",
        {"/robots.txt": robots("User-agent: *", "Allow: /a/", "Disallow: /a/b/"), "/": links("/a/b/c"), "/a/b/c": b"x"},
    ),
    "wrong-group": Case(
        obey_another_group,
        "disallowed",
        "/private/a",
        "Disallow: /private/ (line 2",
        {
            "/robots.txt": robots(
                "User-agent: Weft", "Disallow: /private/", "", "User-agent: otherbot", "Disallow: /x"
            ),
            **PRIVATE,
        },
    ),
    "crawl-delay": Case(
        ignore_crawl_delay,
        "crawl-delay",
        "/open",
        "Crawl-delay: 0.6 (line 2) of http://127.0.0.1:{port}/robots.txt",
        {"/robots.txt": robots("User-agent: *", "Crawl-delay: 0.6"), "/": links("/open"), "/open": b"y"},
    ),
    "crawl-delay-in-a-visit": Case(
        ask_on_in_spite_of_a_crawl_delay,
        "crawl-delay",
        "/open",
        "Crawl-delay: 0.6",
        {"/robots.txt": robots("User-agent: *", "Crawl-delay: 0.6"), "/": links("/open"), "/open": b"y"},
    ),
    "retry-after": Case(
        ignore_retry_after,
        "retry-after",
        "/open",
        "status 503 of http://127.0.0.1:{port}/busy, Retry-After: 1",
        {"/": links("/busy", "/open"), "/busy": _busy, "/open": b"y"},
        {"retry_pauses": [], "per_visit": 1},
    ),
    "retry-after-of-a-retry": Case(  # whose answer is not in the archive
        ignore_retry_after,
        "retry-after",
        "/busy",
        "status 503 of http://127.0.0.1:{port}/busy, Retry-After: 1",
        {"/": links("/busy", "/open"), "/busy": _busy, "/open": b"y"},
        {"retry_pauses": [0.0], "per_visit": 1},
    ),
    "keep-alive": Case(
        ask_for_ever,
        "keep-alive",
        "/open",
        "Keep-Alive: timeout=5, max=0 of http://127.0.0.1:{port}/",
        {"/": Answer(links("/open"), headers=(("Keep-Alive", "timeout=5, max=0"),)), "/open": b"y"},
    ),
    "nofollow": Case(
        follow_nofollow,
        "nofollow",
        "/b",
        "rel=nofollow on http://127.0.0.1:{port}/",
        {"/": b'<a href="/a">x</a><a href="/b" rel="nofollow">y</a>', "/a": b"x", "/b": b"y"},
    ),
    "meta-nofollow": Case(
        follow_closed_pages,
        "nofollow",
        "/b",
        "nofollow on http://127.0.0.1:{port}/a",
        {"/": links("/a"), "/a": b'<meta name="robots" content="nofollow">' + links("/b"), "/b": b"y"},
    ),
    "too-early": Case(
        wait_for_nothing,
        "site-wait",
        "/open",
        "a site rests for 0.5 s after a visit",
        {"/": links("/open"), "/open": b"y"},
        {"wait": 0.5, "per_visit": 1},
        frozenset({"domain-gap", "address-gap"}),
    ),
}


def crawl(site: SmallSite, out: Path, clock: SystemClock | None = None, **changes: Any) -> None:
    """Crawl a site, in this process."""
    values: dict[str, Any] = {"wait": 0.0, "per_visit": 10, "workers": 1, "commit_every": 0.1}
    settings = Settings().with_values(values | changes, where="a test")
    run(Plan(seeds=[site.url("/")], out=out, settings=settings), clock=clock)


@contextmanager
def mutated(mutant: Callable[[Patch], None] | None) -> Iterator[None]:
    """Crawl as a mutant does, within this and no longer."""
    with pytest.MonkeyPatch.context() as patch:
        if mutant is not None:
            mutant(patch)
        yield


def check(found: Audit, rule: str, url: str, says: str, others: frozenset[str] = frozenset()) -> Finding:
    """Is this the finding?"""
    assert not found.ok
    assert set(found.broken) == {rule, *others}, found.violations
    violation = next(each for each in found.violations if each.rule == rule and each.url == url)
    assert says in violation.says
    return violation


@pytest.mark.parametrize("name", CASES)
def test_audit__finds_a_rude_crawler_out(name: str, tmp_path: Path) -> None:
    """By what the server said and what the settings ask for, with the URL and the rule; not so the polite one."""
    case = CASES[name]
    with small_site(case.pages) as site:
        for out, mutant in ((tmp_path / "polite", None), (tmp_path / "rude", case.mutant)):
            with mutated(mutant):
                crawl(site, out, **case.settings)
        polite, rude = audit_crawl(tmp_path / "polite"), audit_crawl(tmp_path / "rude")
        assert polite.violations == []
        assert polite.unjudged == {}
        says = case.says.format(port=site.port)
        violation = check(rude, case.rule, site.url(case.path), says, case.others)
    assert violation.asked is not None
    assert (violation.said is not None) == (case.rule != "site-wait" and name != "retry-after-of-a-retry")
    if violation.said is not None:
        assert (tmp_path / "rude" / "volumes" / violation.said.volume).exists()


@pytest.mark.parametrize("mutant", [None, keep_robots_for_ever])
def test_audit__finds_a_robots_that_is_older_than_a_day(mutant: Callable[[Patch], None] | None, tmp_path: Path) -> None:
    """By the time of day, which is put forward while a page is fetched."""
    clock = JumpingClock()

    def later(_: Any) -> Answer:
        clock.ahead = DAY + 3600.0
        return Answer(links("/b"))

    pages = {"/robots.txt": robots("User-agent: *", "Disallow: /x"), "/": links("/a"), "/a": later, "/b": b"y"}
    with small_site(pages) as site, mutated(mutant):
        crawl(site, tmp_path / "crawl", clock, per_visit=1)
    found = audit_crawl(tmp_path / "crawl")
    if mutant is None:
        assert found.ok, found.violations
        assert found.judged["disallowed"] == 3
    else:
        check(found, "robots-age", site.url("/b"), "a robots.txt holds for 86400 s")


@pytest.mark.parametrize("mutant", [None, forget_the_blacklist])
def test_audit__finds_what_was_on_the_blacklist(mutant: Callable[[Patch], None] | None, tmp_path: Path) -> None:
    """From the time on when it was put there, and workers had heard of it."""
    clock, out = JumpingClock(), tmp_path / "crawl"
    pages = {"/": links("/a", "/b", "/c"), "/a": b"x", "/b": b"y", "/c": b"z"}
    with small_site(pages) as site:
        crawl(site, out, clock, max_pages=1)
        with managing(out, clock) as crawl_under_way:
            crawl_under_way.change_blacklist(add=[site.url("/b")])
        clock.ahead = 3600.0
        with mutated(mutant):
            crawl(site, out, clock)
    assert ("/b" in site.asked) == (mutant is not None)
    found = audit_crawl(out)
    if mutant is None:
        assert found.ok, found.violations
    else:
        check(found, "blacklist", site.url("/b"), f"{site.url('/b')} is on the blacklist")


@pytest.mark.parametrize("mutant", [None, visit_twice])
def test_audit__finds_a_second_connection(mutant: Callable[[Patch], None] | None, tmp_path: Path) -> None:
    """To one site, while the first is open."""

    def slow(_: Any) -> Answer:
        time.sleep(0.1)
        return Answer(b"x")

    paths = [f"/{number}" for number in range(6)]
    with small_site({"/": links(*paths), **dict.fromkeys(paths, slow)}) as site, mutated(mutant):
        crawl(site, tmp_path / "crawl", per_visit=1)
    found = audit_crawl(tmp_path / "crawl")
    if mutant is None:
        assert found.ok, found.violations
        return
    violation = next(each for each in found.violations if each.rule == "site-connections")
    assert violation.url in {site.url(path) for path in ("/robots.txt", *paths)}
    assert (violation.figure or 0) > 1
    assert violation.says == "one connection at a time"


@pytest.mark.parametrize("kind", ["domain", "address", "network"])
@pytest.mark.parametrize("mutant", [None, count_no_connections])
def test_audit__finds_too_many_connections(kind: str, mutant: Callable[[Patch], None] | None, tmp_path: Path) -> None:
    """To the sites of a domain, at an address, or in a network, on a web where all share all of them."""
    web = make_web(SHARED, sites=12, pages=60, largest=10)
    limits = {"per_domain": 50, "per_address": 50, f"per_{kind}": 1}
    with serving(web) as bed, mutated(mutant):
        settings = settings_for(bed, workers=1, per_visit=1, **limits)
        run(Plan(seeds=bed.seeds(), out=tmp_path / "crawl", settings=settings))
    found = audit_crawl(tmp_path / "crawl")
    if mutant is None:
        assert found.ok, found.violations
        return
    assert set(found.broken) == {f"{kind}-connections"}
    violation = found.violations[0]
    assert violation.url.startswith("http")
    assert violation.says == "at most 1 connections at once"


@pytest.mark.parametrize("mutant", [None, keep_no_gap])
def test_audit__finds_openings_too_close_in_a_network(mutant: Callable[[Patch], None] | None, tmp_path: Path) -> None:
    """Where sites have addresses of their own, and no wait."""
    web = make_web(replace(PLAIN, sites_per_address=1), sites=12, pages=60, largest=10)
    with serving(web) as bed, mutated(mutant):
        settings = settings_for(bed, workers=1, per_visit=1, network_gap=0.05)
        run(Plan(seeds=bed.seeds(), out=tmp_path / "crawl", settings=settings))
    found = audit_crawl(tmp_path / "crawl")
    assert found.networks == 1
    if mutant is None:
        assert found.ok, found.violations
        return
    assert set(found.broken) == {"network-gap"}
    assert found.violations[0].says == "0.05 s between openings"
