"""What a damaged global frontier gives when it is made anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

from weft.frontier.durable.rebuilding import Rebuilding


def test_values__that_a_damaged_database_makes_up_are_left_out(tmp_path: Path) -> None:
    """Where a page of its file is missing a column that is never empty is, and texts are what happens to be there."""
    shared: Any = mock.Mock()
    shared.scope.return_value = [None, 3, b"http://b.example/", "", "h", "http://a.example/"]
    shared.blacklist.return_value = [None, "evil.example"]
    new = Rebuilding(tmp_path, shared, seeds=["http://s.example/"], admitted=[], wall=0.0)
    assert new.scope == ["http://s.example/", "http://a.example/"]
    assert new.blacklist == ["evil.example"]
