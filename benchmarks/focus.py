"""How much of what is fetched is about a topic, and how much of the topic is found: focused and breadth-first crawls.

    [CARS=graph-topic-cars] python -m benchmarks.focus [--figure docs/figures/focus.svg]

Two generated webs with topics are served and crawled, each from a few home pages of one topic, up to a quarter of their
pages. Relevant is a page that has the topic by the web's own truth; recall counts those that the seeds lead to. The
crawls: breadth-first; the same, but links are followed of pages that match only, and of three in a row behind them
(`through`); and best-first with the same rule, by six keywords and by a model of 600 pages of another web. Harvest rate
is the share of relevant pages among those fetched so far.

Then the order alone, on the pages of a query graph about classic cars of 2003 or so (Tsaparas and others, in the
directory that CARS names): relevant is a page whose title has one of the words in `ABOUT_CARS`, which is known only
when it is fetched. What the order sees is titles and URLs of pages that were fetched, and the URL of each link.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import heapq
import os
import random
import re
import tempfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray

import weft
from benchmarks.machine import description
from weft.applications import Focused
from weft.graph import Recipe, generate
from weft.graph.assembly import breadth_first
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN
from weft.testbed.topics import words
from weft.testbed.web import Web
from weft.text.html import whole_text
from weft.text.topic import TopicModel, train

WEBS = {
    "20 topics, 0.8 of the links between sites within one": (
        Recipe(sites=200, pages=4_000, largest_site=200, topics=20, topic_links=0.8),
        11,
    ),
    "40 topics, 0.5 of the links between sites within one": (
        Recipe(sites=250, pages=5_000, largest_site=200, topics=40, topic_links=0.5),
        12,
    ),
}
SHARE = 0.25  # of the pages of a web that are fetched
SEEDS, KEYWORDS, TAUGHT = 5, 6, 600
THROUGH = 3
MEDIAN = 4_000  # bytes of a page
POINTS = 20  # of a curve
ABOUT_CARS = "car cars auto automobile automobiles automotive vehicle vehicles motor motors motoring"


class Told(NamedTuple):
    """A topic of a web, and what is true of it."""

    web: Web
    topic: int
    relevant: NDArray[np.bool_]
    seeds: list[int]
    within_reach: int  # relevant pages that the seeds lead to


class InOrder(Focused):
    """Follows what a focused crawl does, in the order of discovery."""

    def visited(self, page: weft.FetchedPage) -> Iterator[weft.Request]:
        """Every page is as good as any other."""
        for request in super().visited(page):
            yield dataclasses.replace(request, priority=0.0)


def made(recipe: Recipe, seed: int) -> Told:
    """A web, and the topic whose share of pages is nearest to the mean."""
    web = Web(generate(recipe, seed), dataclasses.replace(PLAIN, topic_words=recipe.topics, median_bytes=MEDIAN), seed)
    assert web.topics is not None
    topics, graph = web.topics.topics, web.graph
    shares = np.bincount(topics, minlength=recipe.topics) / graph.pages
    topic = int(np.abs(shares - 1 / recipe.topics).argmin())
    homes = graph.first_page[:-1]
    seeds = [int(page) for page in homes if topics[page] == topic][:SEEDS]
    *_, reached = breadth_first(graph.offsets, graph.links, np.array(seeds, dtype=np.int32))
    relevant = topics == topic
    return Told(web, topic, relevant, seeds, int((relevant & reached).sum()))


def taught(recipe: Recipe, seed: int, topic: int) -> TopicModel:
    """A model of pages of another web: half of them have the topic."""
    web = Web(generate(recipe, seed), dataclasses.replace(PLAIN, topic_words=recipe.topics, median_bytes=MEDIAN), seed)
    assert web.topics is not None
    has = web.topics.topics == topic
    chance = random.Random(seed)
    some = [
        *chance.sample(np.flatnonzero(has).tolist(), min(TAUGHT // 2, int(has.sum()))),
        *chance.sample(np.flatnonzero(~has).tolist(), TAUGHT // 2),
    ]
    return train([(whole_text(web.body(page).decode()), bool(has[page])) for page in some], f"topic {topic}")


def crawled(bed: Bed, told: Told, application: Focused | None, most: int) -> list[int]:
    """The pages of a crawl, in the order in which they were fetched."""
    with tempfile.TemporaryDirectory() as folder:
        weft.crawl(
            [bed.url(page) for page in told.seeds],
            out=Path(folder) / "crawl",
            application=application,
            dns=[bed.dns],
            allow_address=["127.0.0.0/8"],
            scope="all",
            max_depth=60_000,
            wait=0.0,
            per_visit=2,
            connections=4,
            link_text=application is not None,
            max_pages=most,
            sitemaps=False,
        )
        with duckdb.connect() as base:
            files = f"{folder}/crawl/pages/*.parquet"
            query = f"select url from '{files}' where kind <> 'robots' and final order by fetched_at"  # noqa: S608
            urls = [url for (url,) in base.execute(query).fetchall()]
    return [page for page in map(bed.web.page, urls) if page is not None]


def curve(order: list[int], relevant: NDArray[np.bool_], within_reach: int, most: int) -> dict[str, Any]:
    """Harvest rate and recall after each twentieth of the pages."""
    found = np.cumsum(relevant[order])
    at = [most * (point + 1) // POINTS for point in range(POINTS)]
    so_far = [int(found[min(place, len(order)) - 1]) for place in at]
    return {
        "fetched": len(order),
        "at": at,
        "harvest": [round(count / min(place, len(order)), 4) for count, place in zip(so_far, at, strict=True)],
        "recall": [round(count / within_reach, 4) for count in so_far],
    }


def on_web(recipe: Recipe, seed: int) -> dict[str, Any]:
    """All crawls of one web."""
    told = made(recipe, seed)
    most = int(told.web.graph.pages * SHARE)
    about = f"keyword:{','.join(words(told.topic)[:KEYWORDS])}"
    curves = {}
    with tempfile.TemporaryDirectory() as folder, serving(told.web) as bed:
        file = Path(folder) / "model.json"
        file.write_bytes(taught(recipe, seed + 1000, told.topic).encoded())
        ways: dict[str, Focused | None] = {
            "breadth-first": None,
            "followed from matching pages, in order": InOrder(about, through=THROUGH, keep="all"),
            "best-first, keywords": Focused(about, through=THROUGH, keep="all"),
            "best-first, model": Focused(f"model:{file}", through=THROUGH, keep="all"),
        }
        for name, application in ways.items():
            curves[name] = curve(crawled(bed, told, application, most), told.relevant, told.within_reach, most)
            print(f"  {name}: harvest {curves[name]['harvest'][-1]:.3f}", flush=True)
    return {
        "recipe": dataclasses.asdict(recipe),
        "seed": seed,
        "pages": told.web.graph.pages,
        "relevant": int(told.relevant.sum()),
        "within_reach": told.within_reach,
        "seeds": len(told.seeds),
        "fetched_at_most": most,
        "curves": curves,
    }


# --- the order alone ---


class Cars(NamedTuple):
    """A query graph: URL and title of each page, and its links."""

    urls: list[str]
    titles: list[str]
    links: list[list[int]]


def read_cars(folder: Path) -> Cars:
    """Read a query graph."""
    with gzip.open(folder / "nodes.gz", "rt", encoding="latin-1") as file:
        blocks = [block.split("\n") for block in file.read().split("\n\n")[1:] if block.strip()]
    urls = {int(block[0].split()[0]): block[1].strip() for block in blocks}
    titles = {int(block[0].split()[0]): block[2].strip() for block in blocks}
    links: list[list[int]] = [[] for _ in range(max(urls) + 1)]
    with gzip.open(folder / "adj_list.gz", "rt", encoding="latin-1") as file:
        for line in file:
            head, colon, rest = line.partition(":")
            if colon:
                links[int(head)] = list(dict.fromkeys(int(each) for each in rest.split() if int(each) >= 0))
    count = len(links)
    return Cars([urls.get(page, "") for page in range(count)], [titles.get(page, "") for page in range(count)], links)


def ordered(cars: Cars, seeds: list[int], application: Focused | None) -> list[int]:
    """The pages in the order in which a crawl with one connection and no waits would fetch them."""
    if application is None:
        order, ahead, known = [], deque(seeds), set(seeds)
        while ahead:
            order.append(page := ahead.popleft())
            new = [target for target in cars.links[page] if target not in known]
            known.update(new)
            ahead.extend(new)
        return order
    number_of = {url: page for page, url in enumerate(cars.urls)}
    heap = [(0.0, place, page, None) for place, page in enumerate(seeds)]
    order, known = [], set(seeds)
    while heap:
        *_, page, meta = heapq.heappop(heap)
        order.append(page)
        targets = [cars.urls[target] for target in cars.links[page]]
        url_words = " ".join(re.findall(r"[a-z]+", cars.urls[page].lower()))
        seen: Any = SimpleNamespace(
            url=cars.urls[page],
            title=cars.titles[page],
            text=url_words,
            type="text/plain",
            columns={},
            link_count=len(targets),
            links=targets,
            link_texts={},
            meta=meta,
            discard=lambda: None,
        )
        for request in application.visited(seen):
            target = number_of[request.url]
            if target not in known:
                known.add(target)
                heapq.heappush(heap, (-request.priority, len(known), target, request.meta))
    return order


def on_cars(folder: Path) -> dict[str, Any]:
    """Breadth-first and best-first, from the best-linked pages with a title about cars."""
    cars = read_cars(folder)
    wanted = re.compile(rf"\b(?:{ABOUT_CARS.replace(' ', '|')})\b", re.IGNORECASE)
    relevant = np.array([wanted.search(title) is not None for title in cars.titles])
    out = np.array([len(row) for row in cars.links])
    seeds = [int(page) for page in np.argsort(-out * relevant, kind="stable")[:10]]
    reached = np.zeros(len(cars.urls), dtype=bool)
    reached[ordered(cars, seeds, None)] = True
    about = f"keyword:{','.join(ABOUT_CARS.split())}"
    most = int(reached.sum())
    curves = {
        name: curve(ordered(cars, seeds, application), relevant, int((relevant & reached).sum()), most)
        for name, application in (
            ("breadth-first", None),
            ("best-first, keywords", Focused(about, through=1_000)),
        )
    }
    return {
        "pages": len(cars.urls),
        "relevant": int(relevant.sum()),
        "reached": most,
        "within_reach": int((relevant & reached).sum()),
        "seeds": [cars.urls[page] for page in seeds],
        "about": ABOUT_CARS,
        "curves": curves,
    }


def run() -> dict[str, Any]:
    """All of it."""
    result: dict[str, Any] = {"machine": description(), "webs": {}}
    for name, (recipe, seed) in WEBS.items():
        print(f"{name}:", flush=True)
        result["webs"][name] = on_web(recipe, seed)
    if folder := os.environ.get("CARS"):
        result["cars"] = on_cars(Path(folder))
    else:
        print("the order alone is left out: CARS names no directory")
    return result


def show(result: dict[str, Any]) -> None:
    """As tables."""
    for name, found in (*result["webs"].items(), *([("cars", result["cars"])] if "cars" in result else [])):
        print(f"\n{name}: {found['pages']:,} pages, {found['relevant']:,} relevant, {found['within_reach']:,} in reach")
        print(f"{'':<42}{'harvest rate at 1/4, 1/2, all':>34}{'recall':>28}")
        for way, each in found["curves"].items():
            places = (POINTS // 4 - 1, POINTS // 2 - 1, POINTS - 1)
            harvest = "".join(f"{each['harvest'][place]:>10.3f}" for place in places)
            recall = "".join(f"{each['recall'][place]:>10.3f}" for place in places)
            print(f"{way:<42}{harvest}{recall}   of {each['fetched']:,}")


def figure(result: dict[str, Any]) -> str:
    """Harvest rate over pages fetched, of the first web."""
    from weft.printing.plots import Frame, Series, lines

    found = next(iter(result["webs"].values()))
    series = [Series(way, each["at"], each["harvest"]) for way, each in found["curves"].items()]
    share = found["relevant"] / found["pages"]
    title = f"Share of relevant pages among those fetched ({share:.1%} of the web are)".replace("%", " %")
    return lines(series, Frame(title=title, x="pages fetched", y="harvest rate", y_range=(0.0, 1.0)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    everything = run()
    show(everything)
    if given.figure:
        given.figure.write_text(figure(everything), encoding="utf-8")
