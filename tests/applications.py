"""Applications for tests, which workers make by name. What they hear goes to a file, a line of JSON each: whatever
process they are in, and however that ends.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import weft

NOWHERE = "http://nowhere.invalid/"


class Noting:
    """Notes what it hears, and asks for every link, with where it was found as the meta. Raises each so many times."""

    def __init__(self, path: str, every: str = "0") -> None:
        self._path = path
        self._every = int(every)
        self._heard: Counter[str] = Counter()

    def note(self, what: str, url: str = "", **further: Any) -> None:
        """Add a line."""
        with open(self._path, "ab", buffering=0) as file:  # noqa: PTH123  one write, at the end of the file
            file.write(json.dumps({"what": what, "url": url, "pid": os.getpid(), **further}).encode() + b"\n")

    def _raise(self, where: str) -> None:
        self._heard[where] += 1
        if self._every and self._heard[where] % self._every == 0:
            self.note("raised", where=where)
            raise RuntimeError(where)

    def begin(self) -> Iterator[weft.Request]:
        """The worker begins: a page of a name that does not exist."""
        self.note("begin")
        self.note("asked", NOWHERE)
        yield weft.Request(NOWHERE, meta={"from": "begin"})
        self._raise("begin")

    def visited(self, page: weft.FetchedPage) -> Iterator[weft.Request]:
        """A page came: its links."""
        self.note("visited", page.url, meta=page.meta)
        for link in page.links:
            self.note("asked", link)
            yield weft.Request(link, meta={"from": page.url})
        self._raise("visited")

    def failed(self, url: str, reason: str, meta: Any = None) -> None:
        """One did not."""
        self.note("failed", url, reason=reason, meta=meta)
        self._raise("failed")

    def redirected(self, url: str, target: str, meta: Any = None) -> None:
        """One redirects."""
        self.note("redirected", url, target=target, meta=meta)
        self._raise("redirected")

    def end(self) -> None:
        """The worker ends."""
        self.note("end")
        self._raise("end")


class Ending(Noting):
    """Ends its process, or never comes back, at one page: a file says which, and how."""

    def visited(self, page: weft.FetchedPage) -> Iterator[weft.Request]:
        """Follow links, but for that page."""
        url, how = Path(self._path).with_suffix(".harm").read_text(encoding="utf-8").split()
        if page.url == url:
            self.note("harm", url)
            if how == "exit":
                sys.exit(3)
            if how == "end":
                os._exit(1)
            while True:
                pass
        yield from super().visited(page)


class Counting(weft.Application):
    """Its state is how often it was told of each page."""

    def __init__(self, path: str = "") -> None:
        self.told: Counter[str] = Counter()
        self.changed = False
        self._path = path

    def visited(self, page: weft.FetchedPage) -> list[str]:
        """Count it."""
        return self._count(f"visited {page.url}") or page.links

    def failed(self, url: str, reason: str) -> None:
        """Count it."""
        del reason
        self._count(f"failed {url}")

    def redirected(self, url: str, target: str) -> None:
        """Count it."""
        del target
        self._count(f"redirected {url}")

    def _count(self, what: str) -> list[str]:
        self.told[what] += 1
        self.changed = True
        return []

    def state(self) -> dict[str, int]:
        """The counts."""
        return dict(self.told)

    def restore(self, state: dict[str, int]) -> None:
        """Count on."""
        self.told.update(state)

    def end(self) -> None:
        """Write the counts down, once for each run."""
        if self._path:
            with Path(self._path).open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.told) + "\n")


class Looking(Noting):
    """Notes what a stage found out."""

    def visited(self, page: weft.FetchedPage) -> Iterator[weft.Request]:
        """Follow every link."""
        self.note("visited", page.url, words=page.columns["words"])
        for link in page.links:
            yield weft.Request(link)


def heard(path: Path, *what: str) -> list[dict[str, Any]]:
    """What applications noted, of these kinds."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines()) if path.exists() else ()
    return [line for line in lines if not what or line["what"] in what]
