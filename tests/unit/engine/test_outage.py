"""Our own failures are not the sites': outages of every kind and length, on a virtual clock, with the defaults."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from tests.hostile.outages import (
    ALL,
    Crawl,
    Fails,
    Lies,
    NoNames,
    NoNameServer,
    NoRoute,
    Rejects,
    Silence,
    host,
    web,
)

from weft.engine.outage import Outage
from weft.frontier.local.site import Site
from weft.frontier.local.undoing import Before
from weft.frontier.overrides import Overrides
from weft.model import Reason, SiteNumber

SITES, PAGES = 20, 16
BEGINS = 20.0  # seconds after the crawl
LENGTHS = (10.0, 60.0, 720.0, 3600.0)
AFTER = 100_000.0  # seconds: more than anything takes
GIVEN_UP = 900.0  # seconds that a crawl of dead sites takes, with all its tries


def check_all_had(crawl: Crawl) -> None:
    """Every page was had once, and nothing is counted against anybody."""
    assert crawl.over == "done"
    assert crawl.fetched() == dict.fromkeys(crawl.pages, 1)
    assert crawl.given_up() == {}
    assert crawl.frontier.discovery.refusals() == {}
    assert crawl.blamed() == []


@pytest.mark.parametrize("seconds", LENGTHS)
@pytest.mark.parametrize("fails", ALL)
def test_outage__costs_nothing_but_its_time(tmp_path: Path, fails: type[Fails], seconds: float) -> None:
    """Every page is had once, nothing is counted against a site, and the crawl goes on by itself, soon."""
    ends = BEGINS + seconds
    crawl = Crawl(tmp_path, web(SITES, PAGES), [(BEGINS, ends, fails)])
    crawl.run(until=ends)
    assert crawl.over == ""
    crawl.run(until=ends + AFTER)
    check_all_had(crawl)
    assert next(at for at in crawl.answers() if at >= ends) - ends <= 60.0 + 20.0, "a pause and a probe in vain"
    crawl.close()


def test_outage__is_told_with_its_cause_and_its_end(tmp_path: Path) -> None:
    """Once each; and how long it took is counted."""
    crawl = Crawl(tmp_path, web(SITES, PAGES), [(BEGINS, BEGINS + 720, NoRoute)])
    crawl.run(until=BEGINS + 720)
    assert [what for _, what in crawl.told()] == ["no network"]
    assert crawl.wires.outage.cause == "no network"
    crawl.run(until=AFTER)
    (began, _), (ended, over) = crawl.told()
    assert over == "over"
    counts = crawl.counts
    assert (counts.outages, round(counts.outage_seconds)) == (1, round(ended - began))
    crawl.close()


@pytest.mark.parametrize("fails", [NoRoute, NoNameServer, Lies])
def test_outage__before_the_first_page_costs_nothing(tmp_path: Path, fails: type[Fails]) -> None:
    """Nobody ever answered, and yet no site is given up."""
    crawl = Crawl(tmp_path, web(SITES, 3), [(0.0, 3600.0, fails)])
    crawl.run(until=3600.0)
    assert crawl.over == ""
    crawl.run(until=AFTER)
    check_all_had(crawl)
    crawl.close()


def test_outage__before_the_first_page_is_seen_by_silence_of_very_many(tmp_path: Path) -> None:
    """Of thirty sites not one says a word: that is no list of dead sites."""
    crawl = Crawl(tmp_path, web(30, 3), [(0.0, 3600.0, Silence)])
    crawl.run(until=AFTER)
    check_all_had(crawl)
    crawl.close()


def test_outage__is_probed_one_site_at_a_time_with_growing_pauses(tmp_path: Path) -> None:
    """An hour without a network is seventy probes or so, and no two of them at once."""
    crawl = Crawl(tmp_path, web(SITES, PAGES), [(BEGINS, BEGINS + 3600, Rejects)])
    crawl.run(until=BEGINS + 3600)
    began = crawl.told()[0][0]
    tried = [at for at, _ in crawl.tried() if at > began]
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert 50 <= len(tried) <= 90
    assert min(pauses) >= 1.0
    assert max(pauses) <= 61.0
    assert len({name for at, name in crawl.tried() if at > began}) >= 10, "not the same one again and again"
    crawl.close()


@pytest.mark.parametrize("fails", [NoRoute, Silence, Lies])
def test_kill__in_an_outage_costs_nothing(tmp_path: Path, fails: type[Fails]) -> None:
    """Who is started again where nobody can be reached finds it out again, and counts nothing either."""
    crawl = Crawl(tmp_path, web(SITES, PAGES), [(BEGINS, BEGINS + 3600, fails)])
    for at in (BEGINS + 5, BEGINS + 60, BEGINS + 700, BEGINS + 2000):
        crawl.run(until=at)
        crawl.kill()
    crawl.run(until=BEGINS + 3600)
    assert crawl.over == ""
    assert crawl.wires.outage.cause
    crawl.run(until=AFTER)
    assert crawl.over == "done"
    assert set(crawl.fetched()) == set(crawl.pages)
    assert crawl.given_up() == {}
    assert crawl.frontier.discovery.refusals() == {}
    assert crawl.blamed() == []
    crawl.close()


@pytest.mark.parametrize("fails", [Silence, NoNames, Rejects, Lies])
@pytest.mark.parametrize("sites", [1, 3])
def test_few_dead_sites__are_given_up_as_ever(tmp_path: Path, sites: int, fails: type[Fails]) -> None:
    """A crawl of nothing but a few dead sites comes to its end."""
    crawl = Crawl(tmp_path, web(sites, 1))
    crawl.network.dead = {host(site): fails for site in range(sites)}
    crawl.run(until=GIVEN_UP)
    assert crawl.over == "done"
    assert crawl.pages_given_up() == sites
    assert crawl.told() == []
    crawl.close()


@pytest.mark.parametrize("fails", [Silence, NoNames, Rejects])
def test_few_sites__that_die_are_given_up_as_ever(tmp_path: Path, fails: type[Fails]) -> None:
    """Three sites that answered before, and then no more: that may happen."""
    crawl = Crawl(tmp_path, web(3, PAGES))
    crawl.run(until=BEGINS)
    crawl.network.dead = {host(site): fails for site in range(3)}
    crawl.run(until=BEGINS + 2 * GIVEN_UP)
    assert crawl.over == "done"
    assert crawl.told() == []
    assert crawl.pages_given_up() == 3
    crawl.close()


@pytest.mark.parametrize("fails", [Silence, NoNames, Rejects, Lies])
def test_many_dead_sites__are_given_up_where_others_answer(tmp_path: Path, fails: type[Fails]) -> None:
    """When the good ones are done only dead ones are left: one that answered before shows that it is not us."""
    crawl = Crawl(tmp_path, web(10, 3) | web(40, 1, first=10))
    crawl.network.dead = {host(site): fails for site in range(10, 50)}
    crawl.run(until=2 * GIVEN_UP)
    assert crawl.over == "done"
    assert crawl.told() == []
    assert crawl.fetched() == dict.fromkeys(web(10, 3), 1)
    assert crawl.pages_given_up() == 40
    crawl.close()


def test_many_names__that_do_not_exist_are_given_up_though_nobody_ever_answered(tmp_path: Path) -> None:
    """A list of expired domains: the name server speaks, and says that there are none."""
    crawl = Crawl(tmp_path, web(40, 1))
    crawl.network.dead = {host(site): NoNames for site in range(40)}
    crawl.run(until=GIVEN_UP)
    assert crawl.over == "done"
    assert crawl.given_up() == {"dns-not-found": 40}
    crawl.close()


@pytest.mark.parametrize("fails", [Silence, NoNames, Rejects])
def test_last_page__is_not_given_up_where_nobody_answers(tmp_path: Path, fails: type[Fails]) -> None:
    """One site is left when the network goes: those that are done show that it is not the site."""
    crawl = Crawl(tmp_path, web(10, 1) | web(1, PAGES, first=10), [(BEGINS, BEGINS + 3600, fails)])
    crawl.run(until=AFTER)
    check_all_had(crawl)
    crawl.close()


def test_site__of_which_our_own_side_always_says_so_is_given_up_where_others_answer(tmp_path: Path) -> None:
    """It has only addresses of a kind that there is no way to from here, or a name server drops the questions."""
    crawl = Crawl(tmp_path, web(6, 3) | web(1, 1, first=6))
    crawl.network.dead = {host(6): NoRoute}
    crawl.run(until=2 * GIVEN_UP)
    assert crawl.over == "done"
    assert crawl.fetched() == dict.fromkeys(web(6, 3), 1)
    assert crawl.pages_given_up() == 1
    crawl.close()


def test_doubts__that_end_together_are_told_bit_by_bit() -> None:
    """Whoever is told ends a visit and begins another: three hundred of them would keep the loop for a tenth of a
    second.
    """

    async def turns() -> list[int]:
        outage, said = Outage(), list[bool]()
        site = Site(SiteNumber(0), "a.example", Overrides().of("a.example"))
        for _ in range(300):
            waits = outage.stands(
                Before(site, 0, False, False, None, 0, 0.0), Reason.DNS_NOT_FOUND, 0.0, address="", ours="", final=True
            )
            waits.send(None).start(said.append)
            waits.close()
        outage.reached(site, 1.0)
        counts = [len(said)]
        while counts[-1] < 300:
            await asyncio.sleep(0)
            counts.append(len(said))
        return counts

    counts = asyncio.run(turns())
    assert counts[-1] == 300
    assert max(after - before for before, after in pairwise([0, *counts])) <= 10
