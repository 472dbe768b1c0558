"""Pages that a link led to beside what the page with the link asks. In: fetches, each with the page where it was found
first. Out: those that were found by a link that asks not to be followed, and by no other on that page.

The page is read anew from its volume: a crawler that follows such links writes them down as followed. A page without
the words is not read; that is most of them. A page that the volumes do not hold is judged by the table of links alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from weft.audit.archive import Answer, Archive, page_of
from weft.audit.findings import Finding, Findings, moment, place
from weft.audit.snapshot import Snapshot
from weft.audit.terms import Terms
from weft.config import Settings
from weft.model import FIRST_REQUISITE, KINDS, Kind
from weft.parse.page import Parser
from weft.store.reading import CrawlFiles
from weft.urls import normal_form, origin_of

UNKNOWN_LINKS = "pages whose link was found on a page that cannot be read from the volumes"

_BY_LINK = [name for name, kind in KINDS.items() if kind in range(1, 7) or kind == Kind.FEED or kind >= FIRST_REQUISITE]
_FOUND = f"""
select v.row, v.url, v.site, v.kind, v.volume, v."offset", v.length, body_volume, body_offset, body_length,
    p.row, p.url, p.fetched_at, p.id, p.via, count(*) over (partition by p.row)
from fetches p left join fetches v on v.id = p.via and v.final
    left join originals on originals.digest = v.digest and v.duplicate_of <> 0
where p.connected_at is not null and p.via <> 0 and p.kind in ({", ".join(f"'{name}'" for name in _BY_LINK)})
order by v.volume, v."offset", v.row, p.row
"""  # noqa: S608
_MOST_UNREAD = 500_000  # pages that are judged by the table of links


class _Led(NamedTuple):
    """A page that was fetched, and where it was found first."""

    source: int | None  # the row of that page, None where there is none
    source_url: str
    source_site: str
    source_kind: str
    volume: str | None
    offset: int
    length: int
    body_volume: str | None
    body_offset: int
    body_length: int
    row: int
    url: str
    fetched_at: int
    id: int
    source_id: int
    sources: int  # pages that have the id of where it was found


def check_links(findings: Findings, snapshot: Snapshot, files: CrawlFiles, archive: Archive, terms: Terms) -> None:
    """Was a page asked for though every link to it, where it was found, asks not to be followed?"""
    doubtful: dict[int, Finding] = {}  # by the row of the request; of those that several pages may have led to
    cleared: set[int] = set()
    unread: list[_Led] = []
    for _, group in groupby(map(_Led._make, snapshot.rows_of(_FOUND)), lambda led: led.source):
        first = next(group)
        answer = archive.answer(first._asdict())
        says = None if answer is None else _Unfollowed(first, answer, terms)
        for led in chain((first,), group):
            if says is None:
                if len(unread) < _MOST_UNREAD:
                    unread.append(led)
                else:
                    findings.unjudged[UNKNOWN_LINKS] += 1
                continue
            findings.judged["nofollow"] += 1
            reason = says.asks(led)
            if reason:
                found = _finding(led, f"{reason} on {led.source_url}", said=place(led.volume, led.offset))
                if led.sources > 1:
                    doubtful[led.row] = found
                else:
                    findings.add_one(found, led.row)
            elif led.sources > 1:
                cleared.add(led.row)
    for row, found in doubtful.items():
        if row not in cleared:
            findings.add_one(found, row)
    if unread:
        _by_the_table(findings, files, terms, unread)


def _finding(led: _Led, says: str, *, said: Any = None) -> Finding:
    return Finding(
        rule="nofollow",
        who=led.source_site,
        figure=None,
        limit=None,
        when=moment(led.fetched_at),
        says=says,
        said=said,
    )


class _Unfollowed:
    """What one page asks about its links."""

    def __init__(self, led: _Led, answer: Answer, terms: Terms) -> None:
        self._led = led
        self._answer = answer
        self._terms = terms
        self._read: dict[int, tuple[bool, set[str], set[str]]] = {}  # by number of settings

    def asks(self, led: _Led) -> str:
        """What asks that a page not be followed; "" where nothing does."""
        terms = self._terms
        if not terms.obeys(self._led.source_site, led.fetched_at):
            return ""
        number = terms.number(led.fetched_at)
        if number not in self._read:
            self._read[number] = _read_links(self._led, self._answer, terms.settings[number])
        follow, unfollowed, followed = self._read[number]
        if not follow:
            return "robots meta tag or X-Robots-Tag: nofollow"
        return "rel=nofollow" if led.url in unfollowed and led.url not in followed else ""


def _read_links(led: _Led, answer: Answer, settings: Settings) -> tuple[bool, set[str], set[str]]:
    """May the links of a page be followed; those that ask not to be; and the others, where that matters."""
    agent = settings.identity.product
    parser = Parser(settings.reading, agent)
    page = page_of(led.source_url, answer)
    content, _ = parser.content(page)
    if not _may_ask(content, agent) and "x-robots-tag" not in answer.headers:
        return True, set(), set()
    parsed = parser.parse(page, KINDS[led.source_kind])
    unfollowed = set(_resolved(parsed.nofollow, parsed.base, settings))
    return parsed.follow, unfollowed, set(_resolved(parsed.links, parsed.base, settings)) if unfollowed else set()


def _may_ask(content: bytes, agent: str) -> bool:
    """May a page ask that links not be followed? Words may be in character references, or two bytes a character.

    >>> _may_ask(b'<a rel="NoFollow">', "weft"), _may_ask(b"display: none", "weft")
    (True, False)
    """
    text = content.lower()
    if b"nofollow" in text or b"&#" in text or b"\0" in text:
        return True
    return b"none" in text and (b"robots" in text or agent.lower().encode() in text)


def _resolved(links: Iterable[tuple[str, int]], base: str, settings: Settings) -> Iterator[str]:
    """Where links lead, and the home pages that are asked for in their place."""
    for written, _ in links:
        url = normal_form(written, base, settings.urls)
        if isinstance(url, str):
            yield url
            if settings.selection.external != "deep-link":
                yield f"{origin_of(url)}/"


def _by_the_table(findings: Findings, files: CrawlFiles, terms: Terms, unread: list[_Led]) -> None:
    """Judge pages by the links as they were written down: from where they were found first to themselves."""
    pairs: dict[tuple[int, int], bool] = {}  # source and target: asks every link not to be followed?
    targets = pa.array(sorted({led.id for led in unread}), pa.int64())
    for batch in files.batches("links", ("source", "target", "nofollow")):
        kept = batch.filter(pc.is_in(batch.column("target"), value_set=targets)).to_pydict()
        for source, target, nofollow in zip(kept["source"], kept["target"], kept["nofollow"], strict=True):
            pairs[source, target] = nofollow and pairs.get((source, target), True)
    for led in unread:
        asks = pairs.get((led.source_id, led.id))
        if asks is None or led.source is None:
            findings.unjudged[UNKNOWN_LINKS] += 1
            continue
        findings.judged["nofollow"] += 1
        if asks and terms.obeys(led.source_site, led.fetched_at):
            findings.add_one(_finding(led, f"nofollow on {led.source_url}, by the table of links"), led.row)
