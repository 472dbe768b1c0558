"""Forms that cannot be understood change nothing, and say what to do."""

from __future__ import annotations

import pytest

from weft.console.actions import ACTIONS
from weft.errors import UsageError
from weft.manage import Managed


class Untouched(Managed):
    """A crawl that must not be told anything."""

    def __init__(self) -> None:
        pass

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(name)


@pytest.mark.parametrize(
    ("action", "form"),
    [
        ("stop", {}),
        ("stop", {"sure": "no"}),
        ("speed", {}),
        ("speed", {"speed": "  "}),
        ("workers", {"workers": "-1"}),
        ("workers", {"workers": "²"}),
        ("workers", {"workers": "9999999999"}),
        ("seeds", {"seeds": ""}),
        ("seeds", {"seeds": "javascript:alert(1)\nfile:///etc/passwd"}),
        ("leave", {"node": "1; drop table nodes"}),
    ],
)
def test_form__that_says_nothing_usable_changes_nothing(action: str, form: dict[str, str]) -> None:
    """It is refused before the crawl is asked."""
    with pytest.raises(UsageError):
        ACTIONS[action](Untouched(), form)
