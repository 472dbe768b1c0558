"""A denial is believed where a name that existed still does."""

from __future__ import annotations

from collections.abc import Callable

from weft.fetch.denials import EVERY, Denials


class Script:
    """A clock, and name servers that know some names."""

    def __init__(self, *known: str) -> None:
        self.known = set(known)
        self.now = 100.0
        self.asked: list[str] = []
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.denials = Denials(self._ask, now=lambda: self.now, later=self._later)

    def _ask(self, host: str, done: Callable[[bool], None]) -> None:
        self.asked.append(host)
        done(host in self.known)

    def _later(self, seconds: float, then: Callable[[], None]) -> None:
        self.later.append((self.now + seconds, then))

    def run(self) -> None:
        """Let all that is due later come to pass."""
        while self.later:
            at, then = self.later.pop(0)
            self.now = max(self.now, at)
            then()


def test_denial__holds_where_a_name_is_still_known() -> None:
    """And those that come together cost one question."""
    script, said = Script("a", "b"), list[bool]()
    for name in ("a", "b", "b"):
        script.denials.exists(name)
    for _ in range(5):
        script.denials.true(said.append)
    script.run()
    assert said == [True] * 5
    assert script.asked == ["b"]


def test_denial__holds_where_one_of_the_names_has_gone() -> None:
    """Another is tried."""
    script, said = Script("a"), list[bool]()
    for name in ("a", "b", "c"):
        script.denials.exists(name)
    script.denials.true(said.append)
    script.run()
    assert said == [True]
    assert script.asked == ["c", "b", "a"]


def test_denial__does_not_hold_where_all_names_are_denied() -> None:
    """That is a name server which denies everything. No more than a few are tried."""
    script, said = Script(), list[bool]()
    for number in range(20):
        script.denials.exists(f"s{number}")
    script.denials.true(said.append)
    script.run()
    assert said == [False]
    assert script.asked == ["s19", "s18", "s17", "s16"]


def test_denial__does_not_hold_where_nothing_was_ever_found() -> None:
    """There is nothing to compare with; nobody is asked."""
    script, said = Script(), list[bool]()
    script.denials.true(said.append)
    assert said == [False]
    assert script.later == []


def test_denial__is_not_shown_true_by_what_was_heard_before_it() -> None:
    """Each is looked at behind itself, and no more often than once a second."""
    script, said = Script("a"), list[bool]()
    script.denials.exists("a")
    script.denials.true(said.append)
    script.run()
    script.known.clear()
    script.denials.true(said.append)
    before = script.now
    script.run()
    assert said == [True, False]
    assert script.now == before + EVERY


def test_denials__that_come_together_are_told_bit_by_bit() -> None:
    """Whoever is told ends a visit and begins another: three hundred of them would keep the loop for a tenth of a
    second.
    """
    script, said = Script("a"), list[bool]()
    script.denials.exists("a")
    for _ in range(300):
        script.denials.true(said.append)
    most = 0
    while script.later:
        before = len(said)
        script.later.pop(0)[1]()
        most = max(most, len(said) - before)
    assert len(said) == 300
    assert most <= 10
    assert script.asked == ["a"]
