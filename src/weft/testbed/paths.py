"""The path of every page. In: a graph and its traits. Out: page → path and path → page, without a dictionary.

A page with pages under it is a directory (`/section-3/topic-12/`), a leaf a file in its parent's directory
(`/section-3/topic-12/page-137.html`, or `view.php?cat=2&id=137` if it is dynamic); the last number is the
page's number in its site. Directories end at the fourth level, as real ones mostly do: what lies deeper is
a file there, too. All paths are kept as one string of bytes: some 40 bytes a page.

>>> graph = Graph.from_links([4], [], parent=[-1, 0, 1, 1])
>>> paths = Paths(graph, draw_traits(graph, PLAIN, 1))
>>> [paths.path(page) for page in range(4)]
[b'/', b'/section-1/', b'/section-1/story-2.html', b'/section-1/item-3.html']
>>> paths.page(0, b"/section-1/item-3.html"), paths.page(0, b"/section-2/item-3.html")
(3, -1)
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from weft.graph import Graph
from weft.testbed.options import PLAIN
from weft.testbed.topics import TopicWords
from weft.testbed.traits import Traits, draw_traits

__all__ = ["PLAIN", "Paths", "draw_traits"]

_DIRECTORIES = (b"", b"section", b"topic", b"list", b"series")
_FILES = (b"page", b"article", b"story", b"item", b"note")


class Paths:
    """Paths of all pages of a web."""

    __slots__ = ("_first", "_offsets", "offsets", "text")

    def __init__(self, graph: Graph, traits: Traits, topics: TopicWords | None = None) -> None:
        self._first = graph.first_page.data
        lengths, self.text = _write_paths(graph, traits, topics)
        self.offsets = np.zeros(graph.pages + 1, dtype=np.int64)
        np.cumsum(lengths, out=self.offsets[1:])
        self._offsets = self.offsets.data

    def path(self, page: int) -> bytes:
        """The path of a page, with its query."""
        return self.text[self._offsets[page] : self._offsets[page + 1]]

    def directory(self, page: int) -> bytes:
        """The directory a page lies in, which is what relative links on it begin at."""
        path = self.path(page)
        return path[: path.rfind(b"/") + 1]

    def page(self, site: int, path: bytes) -> int:
        """The page of a site that has this path; -1 if there is none."""
        first = self._first[site]
        if path == b"/":
            return first
        if path.endswith(b".html"):
            digits = path[path.rfind(b"-") + 1 : -5]
        elif path.endswith(b"/"):
            digits = path[path.rfind(b"-") + 1 : -1]
        else:
            digits = path[path.rfind(b"=") + 1 :]
        if not digits.isdigit():
            return -1
        page = first + int(digits)
        return page if page < self._first[site + 1] and self.path(page) == path else -1


def _write_paths(graph: Graph, traits: Traits, topics: TopicWords | None) -> tuple[list[int], bytes]:
    """All paths in one piece, and their lengths."""
    lengths: list[int] = []
    texts: list[bytes] = []
    for site, (first, end) in enumerate(pairwise(graph.first_page.tolist())):
        paths = _site_paths(
            (graph.parent[first:end] - first).tolist(),
            graph.depth[first:end].tolist(),
            traits.leaf[first:end].tolist(),
            traits.dynamic[first:end].tolist(),
            int(traits.private_root[site]) - first,
            [b""] * (end - first) if topics is None else [topics.name(page) for page in range(first, end)],
        )
        lengths.extend(map(len, paths))
        texts.append(b"".join(paths))
    return lengths, b"".join(texts)


def _site_paths(
    parent: list[int], depth: list[int], leaf: list[bool], dynamic: list[bool], private: int, names: list[bytes]
) -> list[bytes]:
    """The paths of one site's pages, numbered from its home page; page `private` goes under /private/, and those with
    a name are called by it.
    """
    paths = [b"/"] * len(parent)
    directory = {0: (b"/", 0)}
    for page in sorted(range(1, len(parent)), key=depth.__getitem__):
        inside, level = directory[parent[page]]
        if page == private:
            inside += b"private/"
        if leaf[page]:
            paths[page] = inside + _file(page, names[page], dynamic=dynamic[page])
        elif level + 1 < len(_DIRECTORIES):
            paths[page] = b"%b%b-%d/" % (inside, names[page] or _DIRECTORIES[level + 1], page)
            directory[page] = paths[page], level + 1
        else:
            paths[page] = inside + _file(page, names[page], dynamic=False)
            directory[page] = inside, level
    return paths


def _file(number: int, name: bytes, *, dynamic: bool) -> bytes:
    if not dynamic:
        return b"%b-%d.html" % (name or _FILES[number % len(_FILES)], number)
    return b"view.php?id=%d" % number if number % 2 else b"view.php?cat=%d&id=%d" % (number % 7, number)
