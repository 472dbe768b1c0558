"""A scenario on a site. In: a label, a path, a request. Out: the hazard's answer; whether an address is the hazard's.

On every page of the site that is its own, the scenario's links stand in a list at the end of the text.
"""

from __future__ import annotations

from weft.testbed.answers import Answer, Asked
from weft.testbed.scenarios.scenario import Ask, Place, Scenario, escaped

_END = b"</main>\n<footer"  # of every page's text
ROBOTS = b"/robots.txt"
_ASKED = Asked()


class Played:
    """One scenario, played on one site."""

    __slots__ = ("_links", "place", "scenario")

    def __init__(self, scenario: Scenario, place: Place) -> None:
        self.scenario = scenario
        self.place = place
        rows = "".join(f'<li><a href="{escaped(link)}">more</a></li>\n' for link in scenario.links(place))
        self._links = f'<ul class="else">\n{rows}</ul>\n'.encode() + _END

    def dressed(self, body: bytes) -> bytes:
        """A page of the site's own, with the links that lead into the hazard."""
        return body.replace(_END, self._links, 1)

    def answer(self, label: str, path: bytes, asked: Asked) -> Answer | None:
        """The hazard's answer; None: what the site usually answers."""
        scenario = self.scenario
        if path == ROBOTS and not (label and scenario.own_robots):
            return None
        if not (label or scenario.everywhere or self.owns(path)):
            return None
        return scenario.answer(Ask(self.place, label, path, asked))

    def owns(self, path: bytes) -> bool:
        """Whether a path under the site's own name lies in the hazard."""
        return bool(self.scenario.prefix) and path.startswith(self.scenario.prefix)

    def copied(self, label: str, path: bytes) -> int:
        """The page that an address of the hazard shows once more; -1 if it is none."""
        return self.scenario.copied(Ask(self.place, label, path, _ASKED))
