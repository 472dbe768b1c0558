"""Which sites play which scenario, and what an address was for; without sockets."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path

import pytest

from weft.errors import UsageError
from weft.graph import Graph
from weft.testbed.answers import Asked
from weft.testbed.options import PLAIN, Options
from weft.testbed.purpose import Purpose, Sort, purpose_of
from weft.testbed.scenarios import SCENARIOS
from weft.testbed.scenarios.dealing import chosen, deal
from weft.testbed.standards import STANDARD_MIXED
from weft.testbed.web import Web

DOCS = Path(__file__).resolve().parents[3] / "docs"


def _dealt(sites: int, options: Options, seed: int = 1) -> Counter[str]:
    return Counter(scenario.name for scenario in deal(sites, options, seed).values())


def test_scenarios__are_dealt_in_just_the_shares_asked_for() -> None:
    """So many sites, each scenario as often as its weight says."""
    options = Options(hazardous=0.2, scenarios="calendar=1 mirrors=2 drip=1")
    assert _dealt(100, options) == {"calendar": 5, "mirrors": 10, "drip": 5}
    assert _dealt(100, Options()) == {}
    assert _dealt(len(SCENARIOS) * 3, Options(hazardous=1.0)) == dict.fromkeys(
        (scenario.name for scenario in SCENARIOS), 3
    )


def test_scenarios__follow_from_the_seed() -> None:
    """The same seed deals the same sites the same scenarios; another one does not."""
    options = Options(hazardous=0.3)
    assert deal(200, options, 1) == deal(200, options, 1)
    assert deal(200, options, 1) != deal(200, options, 2)


def test_scenarios__that_need_names_are_not_played_by_literals() -> None:
    """They are left out of all, and refused by name."""
    options = Options(naming="literals", hazardous=1.0)
    assert not any(scenario.needs_names for scenario, _ in chosen(options))
    with pytest.raises(UsageError, match="mirrors cannot be played"):
        chosen(dataclasses.replace(options, scenarios="calendar mirrors"))


@pytest.mark.parametrize("text", ["calender=1", "calendar=-1", "calendar=nan", "calendar=0"])
def test_scenarios__that_are_none_are_refused(text: str) -> None:
    """With what can be written."""
    with pytest.raises(UsageError, match="scenario"):
        chosen(Options(hazardous=0.1, scenarios=text))


def test_scenarios__are_documented() -> None:
    """Each has a line about it that is one, a source, and a row of its own in the table of hazards."""
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", (DOCS / "hazards.md").read_text("utf-8"), re.MULTILINE)
    assert rows == [scenario.name for scenario in SCENARIOS]
    for scenario in SCENARIOS:
        assert scenario.source
        assert 10 < len(scenario.about) < 121
        assert "\n" not in scenario.about


def test_standard_web__has_every_hazard_on_five_sites() -> None:
    """A fifth of its sites, in equal share; without hazards the graph is the same."""
    standard = STANDARD_MIXED
    dealt = _dealt(standard.recipe.sites, standard.options, standard.seed)
    assert set(dealt.values()) == {5}
    assert len(dealt) == len(SCENARIOS)
    assert sum(dealt.values()) == standard.recipe.sites * standard.options.hazardous


def test_web__without_hazardous_sites_is_what_it_was(graph: Graph, plain: Web) -> None:
    """Harmless sites of a mixed web have the same bytes as those of a web without hazards."""
    mixed = Web(graph, dataclasses.replace(PLAIN, hazardous=0.5), seed=5, port=8080)
    harmless = [site for site in range(graph.sites) if site not in mixed.played]
    pages = [graph.pages_of(site)[0] for site in harmless]
    assert len(pages) == graph.sites // 2
    assert [mixed.body(page) for page in pages] == [plain.body(page) for page in pages]


def test_purpose__of_every_page_is_good_whatever_its_site_plays(graph: Graph) -> None:
    """And robots.txt is robots.txt, under every name."""
    web = Web(graph, dataclasses.replace(PLAIN, hazardous=1.0), seed=5, port=8080, tls_port=8443)
    for page in range(0, graph.pages, 7):
        found = purpose_of(web, web.url(page))
        played = web.played[int(web.scene.site[page])]
        assert found == Purpose(Sort.GOOD, played.scenario.name, page)
        robots = web.bases[played.place.site].decode() + "/robots.txt"
        assert purpose_of(web, robots).sort is Sort.ROBOTS


def test_purpose__of_what_scenarios_link_to_is_the_hazard(graph: Graph) -> None:
    """Every address by which a crawler comes to it, as it stands on the pages."""
    web = Web(graph, dataclasses.replace(PLAIN, hazardous=1.0), seed=5, port=8080, tls_port=8443)
    for played in web.played.values():
        for link in played.scenario.links(played.place):
            url = played.place.base + link if link.startswith("/") else link
            assert purpose_of(web, url).sort is Sort.HAZARD
            assert purpose_of(web, url).scenario == played.scenario.name
            assert link.replace("&", "&amp;").encode() in web.body(played.place.pages[0])


def test_answers__of_hazards_follow_from_the_request_alone(graph: Graph) -> None:
    """Another web of the same seed says the same, in whichever order it is asked."""
    options = dataclasses.replace(PLAIN, hazardous=1.0)
    one, other = (Web(graph, options, seed=5, port=8080) for _ in range(2))
    urls = [(site, link) for site, played in one.played.items() for link in played.scenario.links(played.place)]
    asked = Asked(connection=17)
    own = [(site, link.encode()) for site, link in urls if link.startswith("/")]
    said = {pair: one.answer(*pair, asked)._replace(steps=None) for pair in own}
    assert {pair: other.answer(*pair, asked)._replace(steps=None) for pair in reversed(own)} == said
