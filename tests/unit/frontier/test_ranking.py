"""Scores of pages that other workers link to: those that one worker would give them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.frontier.conftest import Make, parsed

from weft.frontier.keyed import Keyed
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.oracle import Oracle, Table
from weft.frontier.politeness import Politeness
from weft.frontier.shared.contract import Begun, Found, Limits, Message, Orders, SharedFrontier
from weft.frontier.shared.opening import create_frontier, open_frontier
from weft.model import NO_ID, Kind, PageNumber, Turn, UrlId
from weft.ordering import Scored, ordering_named, ordering_names
from weft.ordering.known import Known
from weft.urls import fingerprint, site_of

LINKS = {
    "http://a.example/": ["/1", "/2", "http://b.example/x", "http://b.example/y"],
    "http://a.example/1": ["http://b.example/x", "/2", "http://b.example/z"],
    "http://a.example/2": ["http://b.example/x", "http://b.example/y"],
}
WORTH = {  # of x, y and z of b.example, when the pages of a.example were visited
    "opic": [1 + 1 / 4 + 5 / 12 + 5 / 6, 1 + 1 / 4 + 5 / 6, 1 + 5 / 12],
    "backlink": [3.0, 2.0, 1.0],
    "depth": [-1.0, -1.0, -2.0],
    "partial": [1 / 4 + 1 / 12 + 1 / 6, 1 / 4 + 1 / 6, 1 / 12],
}


@pytest.mark.parametrize("ordering", sorted(WORTH))
@pytest.mark.parametrize("often", [True, False])
def test_score__is_the_same_wherever_links_were_found(
    make: Make, tmp_path: Path, ordering: str, *, often: bool
) -> None:
    """A worker whose pages another links to gives them the scores that one worker would; told often, or all at once."""

    def one_of_two(group: str) -> LocalFrontier:
        quick = Politeness(wait=0.0, connections=1, per_visit=1, margin=0.0)
        frontier = make(path=tmp_path / group, ordering=ordering_named(ordering), politeness=quick)
        frontier.commits.recover(Begun(1, 0, alone=False))
        frontier.exchanges.obey(Orders(messages=[Message(groups=[group])], taken=1, lent=[("192.0.2.1", 0.0)]))
        return frontier

    here, there = one_of_two("a.example"), one_of_two("b.example")
    here.add_seed("http://a.example/")
    for _ in LINKS:
        visit = here.visit()
        assert visit is not None
        turn = here.turn(visit)
        assert turn is not None
        found, _ = here.discovery.follow(visit.site, turn, parsed(turn.url, *LINKS[turn.url]))
        here.ranking.visited(turn.page, found.keys)
        here.settle(visit, turn, None)
        here.enter(visit, "192.0.2.1")
        here.leave(visit)
        if often:
            here.commits.commit(marks={})
    here.commits.commit(marks={})
    told = [
        link
        for batch in here.exchanges.report(0, wants=0).batches
        for links in batch.notices.values()
        for link in links
    ]
    assert len(told) == (2 + 2 + 2 if often and ordering != "depth" else 3), "one a page and commit"
    there.exchanges.obey(Orders(messages=[Message(notices=told)], taken=2))
    pages = [there.pages.seen.page_of(f"http://b.example/{name}") for name in "xyz"]
    assert there._heaps.arrays.score[pages].tolist() == pytest.approx(WORTH[ordering])


@pytest.mark.parametrize("ordering", ["batch", "opic"])
def test_seed__given_away_by_another_worker_is_scored_as_a_seed(make: Make, ordering: str) -> None:
    """Pages that were given up come without the score of a page that links to them; a seed has none."""
    frontier = make(ordering=ordering_named(ordering), politeness=Politeness(wait=0.0, margin=0.0))
    frontier.commits.recover(Begun(1, 0, alone=False))
    seeds = [Found(f"http://{name}.example/", Kind.SEED, 0, NO_ID) for name in "ab"]
    frontier.exchanges.obey(Orders(messages=[Message(groups=["a.example", "b.example"], notices=[*seeds])], taken=1))
    assert not np.isnan(frontier._heaps.arrays.site_score[:2]).any()
    for _ in seeds:
        visit = frontier.visit()
        assert visit is not None
        assert frontier.turn(visit) is not None


# One worker and three, on the same order of visits.


class Generous(Scored):
    """An ordering in plain Python whose rules look at the number of links, and at the score of the page they are on."""

    name = "generous"

    def found(self, known: Known, page: Any, parent: int, out: int) -> Any:
        """Half of what its parent has, and more where there are few links; a seed has 8."""
        start = 8.0 if parent < 0 else known.score[parent] / 2 + 1 / out
        return np.full(np.shape(page), start)

    def linked(self, known: Known, page: Any, parent: int, out: int) -> Any:
        """A part of what the page has that links to it."""
        return known.score[page] + known.score[parent] / (2 * out)


SITES, PAGES = "abc", 12
BY_LOT = {"random", "historical-random"}  # a page has a number of its own at each worker, and draws by it
SCORED = [name for name in ordering_names() if isinstance(ordering_named(name), Scored)]


def random_web(seed: int) -> dict[str, list[str]]:
    """Pages of three sites, with up to six links each, most of them to other sites."""
    chance = random.Random(seed)
    urls = [f"http://{site}.example/{number or ''}" for number in range(PAGES) for site in SITES]
    return {url: chance.sample(urls, chance.randint(0, 6)) for url in urls}


def told_by(keyed: Keyed, web: dict[str, list[str]], seed: int) -> Oracle:
    """Old scores of some pages, true scores of all."""
    chance = random.Random(seed)
    urls = list(web)
    old = urls[:: 2 + seed % 2]
    tables = [Table(keyed.array_of(some), np.array([chance.random() for _ in some])) for some in (old, urls)]
    return Oracle(old=tables[0], true=tables[1])


class Crew:
    """So many workers, with a real global frontier between them; each step is told to all of them."""

    def __init__(self, make: Make, folder: Path, count: int, ordering: Any, oracle: Oracle) -> None:
        seeds = [f"http://{site}.example/" for site in SITES]
        folder.mkdir()
        create_frontier(folder, by_size=False, seeds=seeds)
        self.shared: SharedFrontier = open_frontier(folder)
        self.shared.prepare(count, Limits())
        self.workers: list[LocalFrontier] = []
        for number in range(count):
            worker = make(path=folder / str(number), ordering=ordering, oracle=oracle)
            worker.commits.recover(self.shared.begin(number))
            worker.exchanges.obey(self.shared.exchange(worker.exchanges.report(number, wants=1 if count > 1 else 9)))
            self.workers.append(worker)
        self.visited: set[str] = set()

    def tell(self) -> None:
        """Every worker commits and is told what the others found."""
        for _ in range(2):
            for number, worker in enumerate(self.workers):
                worker.commits.commit(marks={})
                worker.exchanges.obey(self.shared.exchange(worker.exchanges.report(number, wants=0)))

    def visit(self, url: str, links: list[str]) -> None:
        """Visit one page, whatever the ordering says."""
        worker = next(each for each in self.workers if each.pages.knows(url))
        site = worker.sites[worker.sites.numbers[site_of(url)]]
        page = worker.pages.seen.page_of(url)
        assert worker.ranking is not None
        worker.ranking.catch_up()
        for other in worker._heaps.drain(site.number):
            if other != page:
                worker._heaps.push(site.number, other)
        turn = Turn(page, fingerprint(url), url, 0, Kind.A, UrlId(1), 1, 0)
        found, _ = worker.discovery.follow(site, turn, parsed(url, *links))
        worker.ranking.visited(turn.page, found.keys)
        self.visited.add(url)
        self.tell()

    def scores(self) -> dict[str, float]:
        """Of all pages that are known and were not visited."""
        self.tell()
        found = {}
        for worker in self.workers:
            for page in range(len(worker.pages)):
                url = worker.pages.url_of(PageNumber(page))
                if url not in self.visited:
                    assert url not in found, "one worker has it"
                    found[url] = float(worker._heaps.arrays.score[page])
        self.shared.close()
        return found


@pytest.mark.parametrize("ordering", [*SCORED, "generous"])
@pytest.mark.parametrize("seed", range(3))
def test_scores__are_the_same_with_one_worker_and_with_three(
    make: Make, tmp_path: Path, ordering: str, seed: int
) -> None:
    """On the same order of visits, for every ordering, and for one of somebody else's that looks at the number of
    links: whoever knows the page where a link was found says what it is worth.
    """
    web = random_web(seed)
    oracle = told_by(Keyed(bytes(range(16))), web, seed)
    order = [url for url in web if url.endswith("/")]
    rule: Any = Generous() if ordering == "generous" else ordering_named(ordering)
    crews = [Crew(make, tmp_path / str(count), count, rule, oracle) for count in (1, 3)]
    for url in order:  # grows: breadth first, which all workers can follow
        order += [link for link in web[url] if link not in order]
        if len(order) < len(web) * 2 // 3:
            for crew in crews:
                crew.visit(url, web[url])
    one, three = (crew.scores() for crew in crews)
    assert len(one) > 5
    assert one.keys() == three.keys()
    if ordering in BY_LOT:
        assert len(set(three.values())) > 5
        assert all(0 <= score < 1 for score in three.values())
    else:
        assert three == pytest.approx(one, rel=1e-12)
