"""Names that do not exist are kept out of the frontier: a worker on a virtual clock, its name servers a script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.hostile.outages import BEGAN, Crawl, NoNames, NoNameServer, Pages, host, url, web

from weft.engine.outage import Outage
from weft.frontier.retries import Retries
from weft.model import Reason, UrlId

LIVE, DEAD, PAGES = 14, 6, 4  # 30 % of the names do not exist
AFTER = 100_000.0  # seconds: more than anything takes
DAY = 86_400.0


def dead_url(name: int, page: int = 0) -> str:
    """A page of a name that does not exist."""
    return url(LIVE + name, page)


def half_dead_web() -> Pages:
    """Every page of every live site leads to a page of every dead name."""
    pages = web(LIVE, PAGES)
    for number, links in enumerate(pages.values()):
        links += [dead_url(name, number % PAGES) for name in range(DEAD)]
    return pages


def crawl_of(folder: Path, pages: Pages, **settings: Any) -> Crawl:
    """A crawl of it, that has not begun."""
    crawl = Crawl(folder, pages, seeds=[url(site) for site in range(LIVE)], retries=Retries(**settings))
    crawl.network.keeps_names = True
    crawl.network.dead = {host(LIVE + name): NoNames for name in range(DEAD)}
    return crawl


class Cost:
    """What a crawl of a web with dead names took."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        folder.mkdir()
        crawl = crawl_of(folder, half_dead_web(), **settings)
        crawl.run(until=AFTER)
        assert crawl.over == "done"
        assert crawl.fetched() == dict.fromkeys(web(LIVE, PAGES), 1)
        assert crawl.told() == [], "no outage"
        dead = [host(LIVE + name) for name in range(DEAD)]
        self.rows = sum(crawl.rows(f"//{name}/") for name in dead)
        self.questions = sum(crawl.network.questions[name] for name in dead)
        self.all_questions = crawl.network.questions.total()
        self.visits = crawl.frontier.schedule.visits
        self.seconds = crawl.clock.now() - BEGAN
        self.refused = crawl.frontier.discovery.refusals()
        self.known = len(crawl.frontier.pages)
        crawl.close()


def test_dead_names__cost_a_row_and_a_question_each(tmp_path: Path) -> None:
    """And not four visits with as many rows, and eleven minutes at the end of the crawl."""
    before, after = Cost(tmp_path / "before", name_recheck=0.0), Cost(tmp_path / "after")
    assert (before.rows, after.rows) == (DEAD * 4, DEAD)
    assert before.questions == DEAD * 4
    assert after.questions == DEAD
    assert after.all_questions <= LIVE + DEAD + 3, "and what was asked to see whether denials hold"
    assert before.visits - after.visits >= DEAD * 4
    assert before.seconds > 660.0
    assert after.seconds < 60.0
    assert set(after.refused) == {"dns-not-found"}


def test_dead_names__are_tried_where_somebody_asked_for_them(tmp_path: Path) -> None:
    """A seed has its tries, and its row says what came of it."""
    crawl = crawl_of(tmp_path, half_dead_web())
    crawl.frontier.add_seed(dead_url(0))
    crawl.run(until=AFTER)
    assert crawl.over == "done"
    assert crawl.given_up()["dns-not-found"] >= 1
    assert crawl.rows(f"//{host(LIVE)}/") >= 3
    assert crawl.rows(f"//{host(LIVE + 1)}/") == 1
    crawl.close()


@pytest.mark.parametrize("keeps_names", [True, False])
@pytest.mark.parametrize("fails", [NoNames, NoNameServer])
def test_name_server__that_fails_or_denies_everything_does_not_empty_a_frontier(
    tmp_path: Path, fails: type[NoNames | NoNameServer], *, keeps_names: bool
) -> None:
    """Ten minutes of it, also where those that are known are still reached: every page is had in the end, and the dead
    ones are dead.
    """
    pages = half_dead_web()
    crawl = Crawl(tmp_path, pages, [(8.0, 300.0, fails)], seeds=[url(0), url(1)])
    crawl.network.keeps_names = keeps_names
    for number in range(40):  # further sites are found while it fails, one after the other
        pages[url(number % 2, PAGES + number // 2)] = [url(number // 2 + 2)]
    for site in (0, 1):
        for page in range(PAGES - 1, PAGES + 20):
            pages.setdefault(url(site, page), []).append(url(site, page + 1))
    crawl.network.dead = {host(LIVE + name): NoNames for name in range(DEAD)}
    crawl.run(until=AFTER)
    assert crawl.over == "done"
    assert set(web(LIVE, PAGES)) <= set(crawl.fetched())
    dead = [crawl.frontier.sites.names[number] for number in crawl.frontier.sites.dead]
    assert set(dead) <= {host(LIVE + name) for name in range(DEAD)}
    crawl.close()


def test_dead_names__are_remembered_by_the_next_run(tmp_path: Path) -> None:
    """Nobody is asked for them again, and nothing is written down again."""
    crawl = crawl_of(tmp_path, half_dead_web())
    crawl.run(until=16.0)  # a commit lies behind it
    questions = {host(LIVE + name): 1 for name in range(DEAD)}
    assert {name: crawl.network.questions[name] for name in questions} == questions
    crawl.over = ""
    crawl.kill()
    assert len(crawl.frontier.sites.dead) == DEAD
    assert crawl.frontier.discovery.offer(dead_url(0, 9), 1, 1, UrlId(7)) is Reason.DNS_NOT_FOUND
    crawl.run(until=AFTER)
    assert crawl.over == "done"
    assert {name: crawl.network.questions[name] for name in questions} == questions
    crawl.close()


def test_dead_name__that_was_registered_is_crawled_when_it_is_time_to_ask_again(tmp_path: Path) -> None:
    """By the next link to it, whichever of its pages that leads to."""
    pages = half_dead_web()
    crawl = crawl_of(tmp_path, pages)
    crawl.run(until=16.0)
    crawl.over = ""
    crawl.kill()
    offer, name = crawl.frontier.discovery.offer, dead_url(0)
    crawl.network.dead.pop(host(LIVE))
    pages[name] = []
    crawl.clock.advance(DAY - 60.0)
    assert offer(name, 1, 1, UrlId(7)) is Reason.DNS_NOT_FOUND
    crawl.clock.advance(60.0)
    assert offer(name, 1, 1, UrlId(7)) is None
    crawl.run(until=DAY + AFTER)
    assert crawl.over == "done"
    assert crawl.fetched()[name] == 1
    assert crawl.network.questions[host(LIVE)] == 2
    assert len(crawl.frontier.sites.dead) == DEAD - 1
    crawl.close()


def test_denial__does_not_count_while_an_outage_may_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its visit sees to it then, as to any failure."""
    crawl = crawl_of(tmp_path, half_dead_web())
    monkeypatch.setattr(Outage, "lasts", property(lambda _self: True))
    crawl.run(until=16.0)
    assert crawl.frontier.names.asked >= DEAD
    assert crawl.frontier.sites.dead == {}
    crawl.close()
