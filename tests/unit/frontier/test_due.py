"""Pages that have a time: they come when it has come, each once, the first one first."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from weft.frontier.local.due import NEVER, PLACES, Due
from weft.model import SiteNumber
from weft.ordering.heaps import TwoLevelHeap

SITES = 3
PAGES = st.integers(0, 60)


def made() -> tuple[TwoLevelHeap, Due]:
    """Heaps of three sites, and a table."""
    heaps = TwoLevelHeap(pages=5000, sites=SITES, scored=False, by_size=False)
    for site in range(SITES):
        heaps.add_site(site)
    return heaps, Due(5000, heaps)


class Machine(RuleBasedStateMachine):
    """A table beside a dictionary. Page p is of site p % 3."""

    def __init__(self) -> None:
        super().__init__()
        self.heaps, self.due = made()
        self.tries: dict[int, int] = {}
        self.at: dict[int, float] = {}  # in the order in which they were made to wait

    @rule(page=PAGES, at=st.integers(0, 20), tries=st.integers(0, 5))
    def put(self, page: int, at: int, tries: int) -> None:
        """A page is to be tried again."""
        self.due.put(page, page % SITES, float(at), tries)
        self.at.pop(page, None)
        self.at[page], self.tries[page] = float(at), tries

    @rule(page=PAGES, tries=st.integers(1, 5))
    def note(self, page: int, tries: int) -> None:
        """A page was tried."""
        self.due.note(page, page % SITES, tries)
        self.tries[page] = tries

    @rule(page=PAGES)
    def forget(self, page: int) -> None:
        """A page is done."""
        self.due.forget(page)
        self.tries.pop(page, None)
        self.at.pop(page, None)

    @rule(page=PAGES)
    def wake(self, page: int) -> None:
        """A page need not wait."""
        assert self.due.wake(page) == (page in self.at)
        self.at.pop(page, None)

    @rule(now=st.integers(0, 20))
    def wake_all(self, now: int) -> None:
        """Time has passed."""
        self.due.wake_all(float(now))
        came = {page for page, at in self.at.items() if at <= now}
        found = [page for site in range(SITES) for page in self.heaps.drain(site)]
        assert sorted(found) == sorted(came)
        assert all(page % SITES == site for site in range(SITES) for page in self.heaps.drain(site))
        self.at = {page: at for page, at in self.at.items() if at > now}

    @invariant()
    def agree(self) -> None:
        """The table says what the dictionary says."""
        assert (self.due.known, self.due.waiting) == (len(self.tries), len(self.at))
        assert self.due.next_at == min(self.at.values(), default=NEVER)
        assert [self.due.tries(page) for page in range(61)] == [self.tries.get(page, -1) for page in range(61)]
        assert self.due.times() == {page: (at, self.tries[page]) for page, at in self.at.items()}
        for site in range(SITES):
            assert self.due.of_site(SiteNumber(site)) == [page for page in self.at if page % SITES == site]


TestDue: Any = Machine.TestCase
TestDue.settings = settings(max_examples=40, stateful_step_count=60, deadline=None)


def test_due__grows_and_takes_back_what_was_forgotten() -> None:
    """Thousands of pages, forgotten in another order than they came."""
    _, due = made()
    for page in range(4000):
        due.put(page, page % SITES, float(page * 7919 % 4000), 1)
    places = int(due.arrays.counts[PLACES])
    assert places >= 8000
    for page in sorted(range(4000), key=lambda page: page * 31 % 4001):
        due.forget(page)
    assert (due.known, due.waiting) == (0, 0)
    assert not due.arrays.table[:places].any()
    for page in range(4000):
        due.put(page, 0, 1.0, 2)
    assert due.known == 4000
    assert due.of_site(SiteNumber(0)) == list(range(4000))
