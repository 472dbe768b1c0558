"""The ranking of an ordering that does not score: it has nothing to do. In: what a ranking is told. Out: nothing.

So whoever tells a ranking need not ask whether there is one.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.frontier.durable.chain import Base
from weft.frontier.durable.log import Commit


class Unranked:
    """Stands where a `Ranking` would."""

    scores = False  # pages have no scores that links to them change

    def __repr__(self) -> str:
        return "Unranked()"

    def catch_up(self) -> None:
        """Nothing waits for a score."""

    def visited(self, page: int, keys: Iterable[int]) -> None:
        """A page was visited."""

    def over(self, page: int, *, fetched: bool) -> None:
        """A page had its turn."""

    def pass_over(self, site: int) -> None:
        """A site cannot be reached for now."""

    def located(self, site: int, address: str) -> None:
        """The address of a site is known."""

    def arrived(self, score: float | None, gain: float) -> None:
        """A link came to a page."""

    def gain(self, page: int, amount: float) -> None:
        """Links elsewhere lead to a page."""

    def forget(self, first: int) -> None:
        """Pages before this one are here no more."""

    def loaded(self) -> None:
        """Pages came from another worker."""

    def pack(self, commit: Commit) -> None:
        """Nothing is written down."""

    def load_base(self, base: Base) -> None:
        """A checkpoint is read back."""

    def restore(self, commit: Commit) -> None:
        """A commit is read back."""

    def close(self) -> None:
        """Nothing computes."""
