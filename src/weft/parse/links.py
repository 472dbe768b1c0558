"""The links of a page, as they are written on it. In: a page in UTF-8, and where its links stand. Out: a sequence of
texts with their kinds, made when somebody asks for them.

Most links of a page were on an earlier one, and are known again by their bytes (`frontier.remembered`), without a text
being made of each. What stands on the page as it is meant, in ASCII and without character references, is a span of the
page; the other links are texts from the beginning.

>>> page = b'<a href="/a"><a href=b>'
>>> links = PageLinks(page, np.frombuffer(page, np.uint8), np.array([9, 11, 21, 22]), [("c", 2)], [1])
>>> list(links), len(links)
([('/a', 1), ('c', 2), ('b', 1)], 3)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from weft.model import Kind

Link = tuple[str, int]
"""As it is written, and its kind."""

_A = int(Kind.A)


class PageLinks(Sequence[Link]):
    """Links in their order on a page; owned by its `Parsed`, and never changed."""

    __slots__ = ("data", "made", "page", "places", "size", "spans")

    def __init__(
        self, page: bytes, data: NDArray[np.uint8], spans: NDArray[np.int64], made: list[Link], places: list[int]
    ) -> None:
        self.page = page
        self.data = data  # the same as an array
        self.size = spans.size // 2 + len(made)
        self.spans = spans  # of links that are an <a>'s: two numbers each, where it begins and where it ends
        self.made = made  # the others
        self.places = places  # of these, how many spans come before each

    def __repr__(self) -> str:
        return f"PageLinks({len(self)})"

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, place: int) -> Link: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Link]: ...
    def __getitem__(self, place: int | slice) -> Link | Sequence[Link]:
        """Some of them; who wants all had better iterate."""
        if self.made or not isinstance(place, slice) or place.step is not None:
            return list(self)[place]
        begin, end, _ = place.indices(self.size)
        return PageLinks(self.page, self.data, self.spans[2 * begin : 2 * max(begin, end)], [], [])

    def __iter__(self) -> Iterator[Link]:
        """All of them, as texts."""
        spans = iter(self.spans.tolist())
        plain = self.page.decode("latin-1")  # spans are in ASCII; a copy of all costs less than of each
        found: list[Link] = [(plain[begin:end], _A) for begin, end in zip(spans, spans, strict=True)]
        for before, (place, link) in enumerate(zip(self.places, self.made, strict=True)):
            found.insert(before + place, link)
        return iter(found)

    def __eq__(self, other: object) -> bool:
        """Are they the same links as those of another sequence?"""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
