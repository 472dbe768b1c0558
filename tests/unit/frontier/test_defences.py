"""What ends a trap: families of URLs that come to nothing, apologies, and names without end. By signs, and by proof."""

from __future__ import annotations

from typing import Any

import pytest
from tests.costs import check_linear
from tests.unit.frontier.conftest import Make

from weft.config import Settings
from weft.engine.gate import ADDRESS, Gate, Identity
from weft.frontier.local.apologies import words_of
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.site import Site
from weft.frontier.local.wildcards import Wildcards
from weft.frontier.overrides import Overrides, SiteSettings
from weft.frontier.rules import TURN, Waiting, first_refusal
from weft.frontier.scope import Scope, Selection, changes, limits_complaint
from weft.frontier.traps import absurd_url, family_of
from weft.model import Kind, PageNumber, Parsed, Reason, Turn, UrlId
from weft.widening import Rules, _admits_more

SAID = b"<html><h1>Sorry, there is no %b</h1><p>Try the search, or begin at our home page again.</p></html>"


def site_of(frontier: LocalFrontier, url: str = "http://a.example/") -> Site:
    """The site of a seed."""
    assert frontier.add_seed(url) is None
    return frontier.sites[frontier.sites.numbers["a.example"]]


def parsed(links: int) -> Parsed:
    """A page with so many links."""
    return Parsed("text/html", "utf-8", "", "", "http://a.example/", [("x", Kind.A)] * links, [], True, None)


def turn(path: str, depth: int = 3) -> Turn:
    """A turn of a page of the site."""
    return Turn(PageNumber(0), UrlId(7), f"http://a.example{path}", depth, Kind.A, UrlId(0), 1)


def test_family__is_what_urls_have_in_common() -> None:
    """Numbers, long ids and the values of parameters are left out; words are not."""
    assert family_of("http://a.example/x/1.html") == family_of("http://a.example/x/27.html")
    assert family_of("http://a.example/x?id=1&y=a") == family_of("http://b.example/x?id=2&y=b")
    assert family_of("http://a.example/0f3a9c7be2d1/") == family_of("http://a.example/99a0c7be2d11/")
    assert family_of("http://a.example/red.html") != family_of("http://a.example/blue.html")
    assert family_of("http://a.example/") == "/"


def test_absurd_url__lies_beside_the_other() -> None:
    """In its folder, with its extension; of a URL with parameters the last one's value is absurd."""
    assert absurd_url("http://a.example/", 1) == "http://a.example/0000000000000001"
    assert absurd_url("http://a.example/b/c.php?x=1&y=2", 1) == "http://a.example/b/c.php?x=1&y=0000000000000001"


def test_barren_family__is_left_alone_and_the_rest_of_the_site_is_not(make: Make) -> None:
    """After so many in a row; one that comes to something ends the row. It outlives a restart."""
    frontier = make(selection=Selection(scope="all", max_barren=3))
    site = site_of(frontier)
    item = "http://a.example/item.php?id=%d"
    for number in range(3):
        assert frontier.refusal(site, item % number) is None
        frontier.sites.note_content(site, item % number, copy=True, thin=False)
    assert frontier.refusal(site, item % 9) is Reason.BARREN
    assert frontier.refusal(site, "http://a.example/about.html") is None
    again = Site(site.number, site.name, site.settings)
    again.remember(site.memory(0.0, 0.0), 0.0, 0.0)
    assert again.families == site.families
    frontier.sites.note_content(site, item % 10, copy=False, thin=False)
    assert frontier.refusal(site, item % 9) is None


def test_barren__is_off_where_any_number_is_taken() -> None:
    """0 is no limit."""
    page = Waiting(url="http://a.example/1", site="a.example", barren=10_000)
    assert first_refusal(TURN, Scope(Selection(scope="all", max_barren=0)), page) is None
    assert first_refusal(TURN, Scope(Selection(scope="all")), page) is Reason.BARREN


@pytest.mark.parametrize(
    ("limits", "own", "reason"),
    [
        ({}, {}, None),
        ({"max_site_bytes": 1_000}, {}, Reason.SITE_BYTES),
        ({"max_site_bytes": 1_001}, {}, None),
        ({"max_site_bytes": 1_000}, {"max_bytes": 5_000}, None),
        ({}, {"max_bytes": 1_000}, Reason.SITE_BYTES),
        ({"max_site_bytes": 1_000}, {"max_bytes": 0}, None),
        ({"max_site_time": 2.5}, {}, Reason.SITE_TIME),
        ({"max_site_time": 2.6}, {}, None),
        ({}, {"max_time": 2.5}, Reason.SITE_TIME),
    ],
)
def test_site__has_so_many_bytes_and_so_much_time(
    make: Make, limits: dict[str, Any], own: dict[str, Any], reason: Reason | None
) -> None:
    """Of the crawl, or of its own; what was counted outlives a restart."""
    overrides = Overrides(sites={"a.example": SiteSettings(**own)}) if own else None
    frontier = make(selection=Selection(scope="all", **limits), overrides=overrides)
    site = site_of(frontier)
    site.sent, site.spent = 1_000, 2.5
    assert frontier.refusal(site, "http://a.example/1") is reason
    again = Site(site.number, site.name, site.settings)
    again.remember(site.memory(0.0, 0.0), 0.0, 0.0)
    assert frontier.refusal(again, "http://a.example/1") is reason


@pytest.mark.parametrize(("was", "now"), [(1_000, 500), (500, 1_000), (500, 0)])
def test_site__with_another_limit_of_bytes_or_time_makes_no_crawl_wider(was: int, now: int) -> None:
    """What it refused stays refused, so that nobody is told that something comes in again."""
    for name in ("max_site_bytes", "max_site_time"):
        settings = [Settings().with_values({name: each}, where="a test") for each in (was, now)]
        before, after = map(Rules.of, settings)
        assert not _admits_more(changes(before.selection, after.selection), before, after)


def test_apology__is_asked_for_when_pages_look_the_same_and_known_by_its_words(make: Make) -> None:
    """Not before; and a page with other words is none."""
    frontier = make()
    site, apologies = site_of(frontier), frontier.apologies
    for number in range(60):
        site.fetched += 1
        assert not apologies.suspects(site, turn(f"/old/{number}.html"), 900 + number % 7, parsed(5))
        if number < 19:
            assert site.signs is None
    assert site.signs is not None
    assert site.signs.unsure.startswith("http://a.example/old/")
    apologies.learn(site, SAID % b"/old/00ff.html")
    assert site.signs.unsure == ""
    assert apologies.suspects(site, turn("/old/61.html"), 5_000, parsed(9)), "every page is compared from now on"
    assert apologies.confirms(site, SAID % b"/old/61.html")
    assert not apologies.confirms(site, b"<h1>Sorry</h1><p>Our shop moved to another street, and opens on Monday.</p>")
    assert not apologies.suspects(site, turn("/", depth=0), 900, parsed(5)), "a seed was asked for by name"


def test_apology__of_a_site_with_an_honest_404_is_none(make: Make) -> None:
    """It is asked once, and its pages are pages."""
    frontier = make()
    site = site_of(frontier)
    for number in range(60):
        site.fetched += 1
        frontier.apologies.suspects(site, turn(f"/photo/{number}.html"), 900, parsed(5))
    frontier.apologies.learn(site, None)
    assert not frontier.apologies.suspects(site, turn("/photo/61.html"), 900, parsed(5))
    assert site.signs is not None
    assert not site.signs.unsure


def test_pages_that_differ__are_no_sign(make: Make) -> None:
    """Links or sizes that vary as pages do."""
    frontier = make()
    site = site_of(frontier)
    for number in range(200):
        site.fetched += 1
        frontier.apologies.suspects(site, turn(f"/{number}.html"), 3_000 + 700 * (number % 5), parsed(number % 3))
    assert site.signs is not None
    assert not site.signs.unsure


def test_wildcard__below_a_name_of_the_domain_is_found_by_a_sister() -> None:
    """Anything below www.a.example exists, and below a.example nothing does."""
    wildcards = Wildcards(500)
    assert not wildcards.is_wild("x1.www.a.example", "a.example", 12)
    assert set(wildcards.suspects) == {"www.a.example", "a.example"}
    wildcards.answered("a.example", wild=False)
    wildcards.answered("www.a.example", wild=True)
    assert wildcards.is_wild("x2.www.a.example", "a.example", 12)
    assert wildcards.is_wild("y.x2.www.a.example", "a.example", 12)
    assert not wildcards.is_wild("shop.a.example", "a.example", 12)
    for number in range(100):
        wildcards.is_wild(f"z.{number}.b.example", "b.example", 50)
    assert len(wildcards.suspects) < 40, "a domain is not asked about without end"


def test_address__that_absurd_names_lead_to_is_not_visited() -> None:
    """A public one; loopback and private ones are a test's."""
    gate = Gate(Identity(contact="me@example.org", allow_address=("127.0.0.0/8",)), ())
    assert gate.refusal("9.9.9.9") is None
    gate.note_nobody(["9.9.9.9", "127.0.0.5"])
    assert gate.refusal("9.9.9.9") is Reason.NOBODY
    assert gate.refusal("127.0.0.5") is None
    assert first_refusal(ADDRESS, gate, "9.9.9.9") is Reason.NOBODY
    assert gate.choose(["9.9.9.9", "8.8.8.8"]) == ("8.8.8.8", None)


@pytest.mark.parametrize(
    ("written", "good"),
    [("image/*=2 MB", True), ("pdf=1", False), ("a/b", False), ("a/b=0", False), ("a/b=inf", False)],
)
def test_limits_by_type__are_read_or_refused(written: str, *, good: bool) -> None:
    """A media type and a size."""
    assert (limits_complaint(written) == "") is good


@pytest.mark.parametrize("piece", [b"<script", b"<", b"</script><style>", b"<a href=x"])
def test_words__of_any_page_take_linear_time(piece: bytes) -> None:
    """A site that is asked what it says of a URL that cannot exist may answer anything."""
    check_linear(lambda size: piece * (size // len(piece)), words_of, size=50_000)
