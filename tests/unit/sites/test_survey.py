"""Sites by what they wait for, sorted, filtered and cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from weft.errors import UsageError
from weft.frontier.durable.memory import SiteMemory
from weft.sites.survey import ASIDE, DEAD, NOTHING, REST, RETRY, SHELF, TURN, WAITS, Survey, _Part, _waits_for, survey

NOW = 1000.0


def made() -> Survey:
    """Two workers with three sites each."""
    first = np.array(
        [[TURN, 0, 5, 9, 4, 0, 0, 0], [REST, 1010, 7, 9, 2, 0, 0, 0], [NOTHING, 0, 0, 9, 9, 0, 0, 0]], np.float64
    )
    second = np.array(
        [[RETRY, 1500, 1, 3, 2, 0, 4, 1], [ASIDE, 0, 2, 2, 0, 0, 9, 1], [TURN, 0, 5, 6, 1, 0, 0, 1]], np.float64
    )
    return Survey(
        [
            _Part(["b.test", "a.test", "c.test"], [""] * 3, first),
            _Part(["x.test", "y.test", "B2.test"], [""] * 3, second),
        ],
        NOW,
    )


def names(found: Survey, **asked: object) -> list[str]:
    """The names of the sites on a page."""
    return [row.site for row in found.page(**asked).rows]  # type: ignore[arg-type]


def test_sites__are_sorted_by_any_column() -> None:
    """The largest first; equals in the order of discovery; who waits for no time behind those who do."""
    found = made()
    assert names(found) == ["a.test", "b.test", "B2.test", "y.test", "x.test", "c.test"]
    assert names(found, by="failures", most=2) == ["y.test", "x.test"]
    assert names(found, by="until", rising=True, most=2) == ["a.test", "x.test"]
    assert names(found, by="until", most=2) == ["x.test", "a.test"]
    assert names(found, by="site", rising=True)[0] == "B2.test"


def test_sites__are_filtered_and_cut() -> None:
    """By what they wait for and by a part of the name, in small or large letters; pages do not overlap."""
    found = made()
    assert names(found, waits_for="turn") == ["b.test", "B2.test"]
    assert names(found, text="B2") == names(found, text="b2") == ["B2.test"]
    whole = names(found)
    assert whole == [*names(found, most=4), *names(found, first=4, most=4)]
    assert found.page(waits_for="turn", most=1).found == 2
    assert names(found, first=100) == []
    assert found.waiting() == {"turn": 2, "wait": 1, "retry": 1, "set aside": 1, "shelf": 0, "dead": 0, "nothing": 1}
    for wrong in ({"by": "evil"}, {"waits_for": "evil"}):
        with pytest.raises(UsageError, match="evil"):
            names(found, **wrong)


def test_survey__of_no_worker_is_empty() -> None:
    """A crawl that has not begun has no sites; where there is no crawl, that is said."""
    assert names(Survey([], NOW)) == []
    with pytest.raises(UsageError, match="no crawl"):
        survey(Path("nowhere"), NOW)


@pytest.mark.parametrize(
    ("memory", "pending", "due", "shelved", "dead", "waits"),
    [
        (SiteMemory(), 3, 0.0, False, False, (TURN, 0.0)),
        (SiteMemory(next_visit=NOW + 5), 3, 0.0, False, False, (REST, NOW + 5)),
        (SiteMemory(next_visit=NOW - 5), 3, 0.0, False, False, (TURN, 0.0)),
        (SiteMemory(next_visit=NOW + 5), 0, 0.0, False, False, (NOTHING, 0.0)),
        (SiteMemory(), 3, NOW + 60, False, False, (RETRY, NOW + 60)),
        (SiteMemory(next_visit=NOW + 90), 3, NOW + 60, False, False, (RETRY, NOW + 90)),
        (SiteMemory(set_aside=True), 3, 0.0, False, False, (ASIDE, 0.0)),
        (SiteMemory(), 3, 0.0, True, False, (SHELF, 0.0)),
        (SiteMemory(denied_at=NOW), 3, 0.0, False, True, (DEAD, 0.0)),
    ],
)
def test_site__waits_for_one_thing(
    memory: SiteMemory, pending: int, due: float, shelved: bool, dead: bool, waits: tuple[int, float]
) -> None:
    """What keeps it from being visited next."""
    assert _waits_for(memory, pending, due, NOW, shelved=shelved, dead=dead) == waits
    assert len(WAITS) == 7
