"""Logs that are written by hand, so that every time in them is known: what a judge makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import weft

from weft.errors import UsageError
from weft.graph import Recipe, generate
from weft.testbed.judge.page import made_page
from weft.testbed.judge.verdict import judge
from weft.testbed.log import Entry
from weft.testbed.options import Options
from weft.testbed.web import Web

OPTIONS = Options(
    sites_per_address=2,
    compressed=0.0,
    failing=0.0,
    robots_missing=0.0,
    robots_errors=0.0,
    robots_rules=1.0,
    robots_delays=1.0,
    crawl_delay_s=2.0,
    retry_after_s=3,
    nofollow=0.0,
    meta_robots=0.0,
    x_robots=0.0,
    hazardous=0.25,
    scenarios="calendar",
)
FLAGS = ("--sites", "4", "--pages", "80")


@pytest.fixture(scope="module")
def web() -> Web:
    """Four sites on two addresses: rules and crawl-delays everywhere, a calendar without end on one."""
    return Web(generate(Recipe(sites=4, pages=80), seed=1), OPTIONS, seed=1)


class Writer:
    """Writes a log as the servers would have."""

    def __init__(self, web: Web, path: Path) -> None:
        self._web, self.path = web, path
        self._lines = ["\t".join(Entry._fields)]
        self._connection = 0

    def connection(self, site: int, opened: float, *requests: tuple[float, float, str]) -> None:
        """One connection with requests: from when, until when, and for what; it is closed with the last one."""
        self._connection += 1
        web, last = self._web, opened
        for begun, ended, path in requests:
            answer = web.answer(site, path.encode())
            self._add("request", site, opened, begun, ended, "GET", answer.status, len(answer.body), answer.kind, path)
            last = ended
        self._add("close", site, opened, last, last, "-", 0, 0, "close", "-")

    def _add(self, event: str, site: int, *rest: Any) -> None:
        authority, address = self._web.authority(site, secure=False).decode(), self._web.names.address(site)
        opened, *others = rest
        values = (event, authority, address, "http", self._connection, opened, *others, "Robot/1")
        self._lines.append("\t".join(map(str, values)))

    def write(self) -> Path:
        """Write what was added."""
        self.path.write_text("\n".join(self._lines) + "\n", encoding="ascii")
        return self.path


@pytest.fixture
def writer(web: Web, tmp_path: Path) -> Writer:
    """An empty log of the web."""
    return Writer(web, tmp_path / "robot.tsv")


def judged(web: Web, writer: Writer) -> dict[str, Any]:
    """What is said of the one crawler of a log."""
    found: dict[str, Any] = judge(web, {"robot": writer.write()})["crawlers"]["robot"]
    return found


def two_pages(web: Web) -> tuple[int, str, str]:
    """A site with two pages that nobody forbids, and their paths."""
    for site in range(web.graph.sites):
        paths = [web.path(page).decode() for page in web.graph.pages_of(site)]
        free = [path for path in paths if not path.startswith("/private/")]
        if len(free) > 1:
            return site, free[0], free[1]
    raise AssertionError


def test_judge__knows_a_polite_crawler(web: Web, writer: Writer) -> None:
    """robots.txt first, one connection a site, its crawl-delay kept: nothing is found against it."""
    site, home, other = two_pages(web)
    writer.connection(site, 10.0, (10.0, 10.1, "/robots.txt"))
    writer.connection(site, 13.0, (13.0, 13.1, home))
    writer.connection(site, 16.0, (16.0, 16.1, other))
    found = judged(web, writer)
    robots, manners = found["robots"], found["manners"]
    assert (robots["asked_first"], robots["never_asked"], robots["forbidden"], robots["too_soon"]) == (1, 0, 0, 0)
    assert robots["delays"] == 2
    assert robots["oldest_s"] == pytest.approx(5.9)
    assert manners["site"]["most_connections"] == manners["address"]["most_requests"] == 1
    assert manners["site"]["gap_between_requests"]["least"] == pytest.approx(2.9)
    assert found["worth"]["good"] == 2
    assert found["worth"]["repeated"] == found["worth"]["copies"] == 0


def test_judge__finds_connections_side_by_side(web: Web, writer: Writer) -> None:
    """Two at one site; and two sites at one address are one address's."""
    site, home, other = two_pages(web)
    neighbour = (site + 2) % 4
    writer.connection(site, 10.0, (10.0, 10.1, home), (12.0, 12.1, other))
    writer.connection(site, 11.0, (11.0, 12.0, other))
    writer.connection(neighbour, 11.5, (11.5, 11.6, "/"))
    assert web.names.address(site) == web.names.address(neighbour)
    manners = judged(web, writer)["manners"]
    assert (manners["site"]["most_connections"], manners["site"]["with_several"]) == (2, 1)
    assert (manners["address"]["most_connections"], manners["domain"]["groups"]) == (3, 2)
    assert manners["site"]["most_requests"] == 1
    assert manners["address"]["most_in_a_second"] == 2
    assert manners["site"]["gap_between_connections"]["least"] == 0.0


def test_judge__finds_what_robots_forbids(web: Web, writer: Writer) -> None:
    """A page of /private/ is a violation, and no good page; so is what was asked before robots.txt was."""
    site = next(int(site) for site in range(4) if web.traits.private_root[site] >= 0)
    secret = web.path(int(web.traits.private_root[site])).decode()
    writer.connection(site, 10.0, (10.0, 10.1, "/"), (10.2, 10.3, secret))
    writer.connection(site, 20.0, (20.0, 20.1, "/robots.txt"))
    found = judged(web, writer)
    assert found["robots"]["forbidden"] == found["worth"]["classes"]["forbidden"]["requests"] == 1
    assert (found["robots"]["asked_late"], found["robots"]["asked_first"]) == (1, 0)
    assert found["worth"]["good"] == 1


def test_judge__finds_who_comes_too_soon(web: Web, writer: Writer) -> None:
    """A crawl-delay of 2 s that is known: a second after the last answer is too soon."""
    site, home, other = two_pages(web)
    writer.connection(site, 10.0, (10.0, 10.1, "/robots.txt"), (12.2, 12.3, home), (13.3, 13.4, other))
    assert judged(web, writer)["robots"]["too_soon"] == 1


def test_judge__counts_what_is_asked_for_again(web: Web, writer: Writer) -> None:
    """The same address twice is a repeat; the same content from two addresses is a copy."""
    original = next(page for page in range(web.graph.pages) if web.pages.original(page) != page) - 1
    site = int(web.scene.site[original])
    first, copy = web.path(original).decode(), web.path(original + 1).decode()
    writer.connection(site, 10.0, (10.0, 10.1, first), (11.0, 11.1, copy), (12.0, 12.1, first))
    worth = judged(web, writer)["worth"]
    assert (worth["repeated"], worth["retried"], worth["copies"], worth["fetched"]) == (1, 0, 1, 3)
    classes = worth["classes"]
    assert [classes[name]["requests"] for name in ("new", "duplicate", "again")] == [1, 1, 1]


def test_judge__tells_what_a_hazard_cost(web: Web, writer: Writer) -> None:
    """Requests, bytes and seconds of the calendar, and the good pages of its site."""
    (site,) = web.played
    writer.connection(
        site, 10.0, (10.0, 10.1, "/"), (11.0, 11.5, "/calendar/2031/05/"), (12.0, 12.25, "/calendar/2031/06/")
    )
    cost = judged(web, writer)["worth"]["hazards"]["calendar"]
    assert (cost["requests"], cost["seconds"], cost["sites"], cost["good"]) == (2, 0.75, 1, 1)
    assert cost["bytes"] == sum(len(web.answer(site, f"/calendar/2031/0{month}/".encode()).body) for month in (5, 6))


def test_judge__holds_the_order_against_breadth_first_and_the_best(web: Web, writer: Writer) -> None:
    """Who fetches in breadth-first order is just as good as that, and the best order is better than both."""
    from weft.testbed.truth import reachable

    for place, page in enumerate(reachable(web)):
        now = 10.0 + place
        writer.connection(int(web.scene.site[page]), now, (now, now + 0.1, web.path(page).decode()))
    order = judged(web, writer)["order"]
    assert order["average"] == order["average_breadth_first"] < order["average_best"]
    assert order["gathered"] == 1.0
    assert [moment["gathered"] for moment in order["at"]] == [moment["breadth_first"] for moment in order["at"]]
    assert order["by_requests"][-1] == (len(reachable(web)), 1.0)


def test_judge__shows_crawlers_side_by_side(web: Web, writer: Writer) -> None:
    """One page with a column for each, and a line of each in the figures."""
    writer.connection(0, 10.0, (10.0, 10.1, "/robots.txt"), (11.0, 11.1, "/"))
    log = writer.write()
    html = made_page(judge(web, {"one <1>": log, "two": log}, name="small")).html()
    assert "one &lt;1&gt;" in html
    assert html.count("<figure") == 3
    assert "the standard web small" in html


def test_judge__takes_the_first_requests_alone(web: Web, writer: Writer) -> None:
    """So that who made many is held against who made few."""
    site, home, other = two_pages(web)
    writer.connection(site, 10.0, (10.0, 10.1, home), (11.0, 11.1, other), (12.0, 12.1, home))
    found = judge(web, {"robot": writer.write()}, first=2)
    assert found["crawlers"]["robot"]["requests"] == 2
    assert found["crawlers"]["robot"]["worth"]["repeated"] == 0
    assert "by its first 2 requests" in made_page(found).html()


def test_judge__says_of_a_cut_log_that_it_is(web: Web, writer: Writer) -> None:
    """The part of a line at its end is left out, and the page says so."""
    writer.connection(0, 10.0, (10.0, 10.1, "/"))
    path = writer.write()
    path.write_text(path.read_text(encoding="ascii") + "request\twww.si", encoding="ascii")
    found = judge(web, {"robot": path})
    assert found["crawlers"]["robot"]["cut"]
    assert found["crawlers"]["robot"]["requests"] == 1
    assert "is not whole, and was left out" in made_page(found).html()


HEAD = "\t".join(Entry._fields) + "\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "nobody asked these servers for anything"),
        (HEAD, "nobody asked these servers for anything"),
        ("127.0.0.1 - - [18/Nov/2026] GET /\n", "this is no log of the testbed's servers"),
        (HEAD + "request\tsite-0.test\t127.1.0.1\n", "a line of the request log cannot be read"),
        ("\N{SNOWMAN}\n", "this is no log of the testbed's servers"),
    ],
)
def test_judge__bad_logs_are_told_to_people(web: Web, tmp_path: Path, text: str, said: str) -> None:
    """What is wrong, and in which file."""
    path = tmp_path / "bad.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said) as error:
        judge(web, {"robot": path})
    assert str(path) in str(error.value)


def test_judge__refuses_the_log_of_another_web(web: Web, writer: Writer) -> None:
    """Another seed is another web, whose pages these are not."""
    site, home, other = two_pages(web)
    writer.connection(site, 10.0, (10.0, 10.1, home), (11.0, 11.1, other))
    path = writer.write()
    with pytest.raises(UsageError, match="this is the log of another web"):
        judge(Web(generate(Recipe(sites=4, pages=80), seed=2), OPTIONS, seed=2), {"robot": path})


def test_judge__is_a_command(tmp_path: Path) -> None:
    """It names crawlers by what is given, or by the file; writes a page; and prints numbers."""
    web = Web(generate(Recipe(sites=4, pages=80), seed=1), Options(), seed=1)
    writer = Writer(web, tmp_path / "robot.tsv")
    writer.connection(0, 10.0, (10.0, 10.1, "/"))
    log = writer.write()
    told = json.loads(weft("testbed", "judge", log, f"other={log}", *FLAGS, "--json"))
    assert list(told["crawlers"]) == ["robot", "other"]
    weft("testbed", "judge", f"mine={log}", *FLAGS, "--out", tmp_path / "page.html")
    assert "<title>Crawlers judged: mine</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "two logs are called 'robot'" in weft("testbed", "judge", log, log, *FLAGS, code=2)
    assert "no log is given" in weft("testbed", "judge", *FLAGS, code=2)
    assert "cannot read the request log" in weft("testbed", "judge", tmp_path / "none.tsv", *FLAGS, code=2)
