"""The store of one worker: volumes, columns and what it knows of contents. In: pages and what was found out. Out:
records and rows.

`flush` makes everything given so far readable up to the lengths it returns; `seal` makes it readable by name.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from weft.model import Kind, Page, Parsed, Reason, Turn
from weft.store.columns import LINKS, PAGES, URLS, Journal, LinkJournal, UrlJournal
from weft.store.digests import Digests
from weft.store.volumes import Original, Stored, Storing, Volumes, payload_digest

_KINDS = {kind.value: kind.name.lower() for kind in Kind}


class Store:
    """Where a worker's pages go."""

    def __init__(
        self,
        folder: Path,
        settings: Storing,
        *,
        info: dict[str, str],
        chance: random.Random,
        url_of: Callable[[int], str | None],
    ) -> None:
        self._url_of = url_of
        self._volumes = Volumes(folder / "volumes", settings, info, chance)
        self._pages = Journal(folder / "pages", PAGES)
        self._links_journal = Journal(folder / "links", LINKS)
        self._links = LinkJournal(self._links_journal)
        self._urls_journal = Journal(folder / "urls", URLS)
        self._journals = (self._pages, self._links_journal, self._urls_journal)
        self._urls = UrlJournal(self._urls_journal)
        self.note_url = self._urls.append  # a URL that was seen for the first time: id, text
        self.digests = Digests()
        self.bytes = 0  # of contents

    def __repr__(self) -> str:
        return f"Store({self._volumes}, {self._pages})"

    def archive(self, turn: Turn, page: Page, *, cut: str) -> Stored:
        """Write an exchange to the volume."""
        digest = payload_digest(page.body)
        original: Original | None = None
        if page.body and not cut:
            known = self.digests.first(digest, turn.id, page.fetched_at)
            if known is not None:
                url = self._url_of(known[0])
                original = None if url is None else Original(known[0], url, known[1])
        self.bytes += len(page.body)
        return self._volumes.store(page, digest, original, cut=cut)

    def note_page(  # noqa: PLR0913
        self,
        turn: Turn,
        site: str,
        visit: int,
        page: Page,
        parsed: Parsed | None,
        stored: Stored | None,
        *,
        reason: Reason | None,
        final: bool,
        cut: str,
        closed_at: float | None,
        redirect: str | None,
        links: int,
    ) -> None:
        """Write the row of a fetch."""
        headers = page.headers
        declared = headers.get("content-type", "")
        answered = page.status > 0
        self._pages.append(
            (
                turn.id,
                turn.url,
                site,
                page.address or None,
                _KINDS[turn.kind],
                turn.depth,
                turn.via or None,
                turn.attempt,
                final,
                visit,
                page.status if answered else None,
                None if reason is None else reason.value,
                round(page.connected_at * 1e6) if page.connected_at else None,
                round(page.fetched_at * 1e6),
                None if closed_at is None else round(closed_at * 1e6),
                page.took,
                declared.partition(";")[0].strip().lower() or None,
                None if parsed is None else parsed.type or None,
                None if parsed is None else parsed.charset or None,
                None if parsed is None else parsed.language or None,
                None if parsed is None else parsed.title or None,
                len(page.body) if answered else None,
                cut or None,
                None if stored is None else stored.digest,
                None if stored is None else stored.duplicate_of or None,
                links if parsed is not None else None,
                headers.get("etag"),
                headers.get("last-modified"),
                redirect,
                page.tls or None,
                None if stored is None else stored.volume,
                None if stored is None else stored.offset,
                None if stored is None else stored.length,
            )
        )

    def note_links(self, source: int, targets: list[int], kinds: list[int]) -> None:
        """Write the links of a page."""
        if targets:
            self._links.append(source, targets, kinds)

    def flush(self) -> dict[str, int]:
        """Write everything given so far; the valid length of every open file."""
        self._volumes.flush()
        self._pages.flush()
        self._links.flush()
        self._urls.flush()
        open_files = {journal.name: journal.length for journal in self._journals}
        open_files[f"volumes/{self._volumes.name}"] = self._volumes.length
        return {name: length for name, length in open_files.items() if length}

    def seal(self) -> None:
        """Close every open part under its final name."""
        self._links.flush()
        self._urls.flush()
        self._volumes.seal()
        for journal in self._journals:
            journal.seal()
