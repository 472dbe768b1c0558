"""The table of built-in orderings: compiled code knows each by its number, and nothing by another."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from weft import ordering as orderings
from weft.compiled import compiled
from weft.errors import UsageError
from weft.ordering import Scored, ordering_named, ordering_names
from weft.ordering import opic as orderings_opic
from weft.ordering.known import NO_PAGE, Known
from weft.ordering.rules import BUILT_IN, PYTHON, UNSCORED, found, linked, rule_of


@compiled
def found_by(rule: int, known: Known, page: int, parent: int, out: int) -> float:
    """The rule, from compiled code."""
    return found(rule, known, page, parent, out)


@compiled
def linked_by(rule: int, known: Known, page: int, parent: int, out: int) -> float:
    """The same."""
    return linked(rule, known, page, parent, out)


def some_known() -> Known:
    """Three pages, of which everything is known."""
    return Known(
        np.array([0.5, 0.25, 2.0]),
        np.array([0.1, np.nan, 0.3]),
        np.array([0.7, 0.8, 0.9]),
        np.array([0.1, 0.3]),
        np.zeros(1, np.int64),
        1,
    )


@pytest.mark.parametrize("name", [name for name in ordering_names() if ordering_named(name).scored])
def test_rules__compiled_are_those_of_the_class(name: str) -> None:
    """Every ordering of ours that scores is in the table, and what is dispatched by its number is its own rule."""
    ordering = ordering_named(name)
    assert isinstance(ordering, Scored)
    if not type(ordering).__module__.startswith("weft."):
        return
    rule = rule_of(ordering)
    assert rule not in (PYTHON, UNSCORED)
    known = some_known()
    for page in range(3):
        for parent, out in ((NO_PAGE, 0), (2, 4)):
            assert found_by(rule, known, page, parent, out) == ordering.found(known, page, parent, out)
        assert linked_by(rule, known, page, 2, 4) == ordering.linked(known, page, 2, 4)


@pytest.mark.parametrize("number", [PYTHON, UNSCORED, len(BUILT_IN) + 2, -1])
def test_rules__have_no_other_numbers(number: int) -> None:
    """A number without a rule is an error, and no other ordering's."""
    with pytest.raises(ValueError, match="no rule of this number"):
        found_by(number, some_known(), 0, NO_PAGE, 0)
    with pytest.raises(ValueError, match="no rule of this number"):
        linked_by(number, some_known(), 0, 1, 1)


def test_rules__of_somebody_else_are_asked_in_python() -> None:
    """Whatever it calls itself."""

    class Opic(orderings_opic.Opic):
        """Ours, with another rule."""

    assert rule_of(Opic()) == PYTHON


class Incomplete:
    """An ordering that lacks something."""

    name = "incomplete"
    by_size = False
    scored = True


def test_ordering__that_lacks_something_is_refused_with_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not taken for one without scores."""
    point = EntryPoint("incomplete", f"{__name__}:Incomplete", orderings.GROUP)
    monkeypatch.setattr(orderings, "_installed", lambda: {point.name: point})
    with pytest.raises(UsageError, match="needs, rerank, found, linked"):
        ordering_named("incomplete")
