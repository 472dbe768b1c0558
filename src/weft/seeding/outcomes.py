"""What became of the seeds of a crawl (P3 3.1), also while it runs. In: a crawl's directory. Out: for every seed how it
ended, or that it waits.

The three sources are those of `weft explain`, in the same order: rows of fetches, what frontiers know, and the rules,
which are asked again about what was refused when it was found. All seeds are looked up in one pass over the columns.

The seeds are those that the crawl was begun with; and those that were added since, as far as a row tells of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.config import Settings
from weft.directory import laws_of, seeds_of
from weft.frontier.rules import FOUND, candidate, first_refusal
from weft.frontier.shared.opening import frontier_exists, open_frontier
from weft.model import NO_PAGES, Kind, Reason
from weft.seeding.standing import Place, places
from weft.store.reading import CrawlFiles
from weft.urls import fingerprints, site_of

How = Literal["fetched", "redirected", "failed", "refused", "waiting", "unknown"]
HOWS: tuple[How, ...] = ("fetched", "redirected", "failed", "refused", "waiting", "unknown")

MOST_HOPS = 20  # of a chain of redirects
_COLUMNS = (
    "id",
    "url",
    "site",
    "kind",
    "depth",
    "status",
    "reason",
    "final",
    "redirect",
    "redirected_from",
    "fetched_at",
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a seed."""

    url: str
    outcome: How
    reason: str | None = None  # of a failure or a refusal, from the list of reasons
    status: int | None = None  # of its own last answer
    tries: int = 0  # fetches of it
    redirect: str | None = None  # where it leads in the end, as far as that was followed
    hops: int = 0  # redirects on the way there
    ended: How | None = None  # what became of that
    pages: int = 0  # good pages that came of its site; where it leads elsewhere, of the site there
    waits: str = ""  # for what, where it waits
    added: bool = False  # it was added to the crawl after its beginning


class Seeds(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the seeds of a crawl."""

    crawl: str
    seeds: int
    outcomes: dict[str, int]  # by outcome
    reasons: dict[str, int]  # of those that failed or were refused, and of where redirected ones ended
    pages: int  # good pages of all sites that seeds are of or lead to
    all: list[Outcome]


def seeds_report(out: Path) -> Seeds:
    """What became of every seed of a crawl, in the order of its list; those that were added follow."""
    files = CrawlFiles(out)
    settings = Settings().with_file(out / "crawl.toml")
    begun = seeds_of(out)
    fetched = _Fetched(files, begun)
    seeds = list(dict.fromkeys([*begun, *fetched.added]))
    ends = {seed: fetched.end(seed) for seed in seeds}
    open_ones = {url for seed in seeds for url in (seed, ends[seed][0]) if not fetched.is_done(url)}
    known = _Known(out, settings, open_ones)
    judged = [_outcome(seed, *ends[seed], fetched, known, added=seed in fetched.added) for seed in seeds]
    return Seeds(
        crawl=str(out),
        seeds=len(judged),
        outcomes=_counted(each.outcome for each in judged),
        reasons=_counted(each.reason for each in judged if each.reason is not None),
        pages=sum(fetched.pages.get(site, 0) for site in {site_of(end) for end, _ in ends.values()}),
        all=judged,
    )


def _counted(words: Iterable[str]) -> dict[str, int]:
    """How often each word comes, the most frequent first."""
    found: dict[str, int] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def _outcome(seed: str, end: str, hops: int, fetched: _Fetched, known: _Known, *, added: bool) -> Outcome:
    row = fetched.rows.get(seed)
    made: dict[str, Any] = {
        "url": seed,
        "pages": fetched.pages.get(site_of(end), 0),
        "tries": fetched.tries.get(seed, 0),
        "status": None if row is None else row["status"],
        "added": added,
    }
    how, reason, waits = _ending(seed, Kind.SEED, fetched, known)
    if how != "redirected":
        return Outcome(outcome=how, reason=reason, waits=waits, **made)
    ended, reason, waits = _ending(end, Kind.REDIRECT, fetched, known, steps=hops)
    if ended == "redirected":  # in a circle, or behind more than are followed
        ended, reason = "refused", Reason.CHAIN.value
    return Outcome(outcome=how, redirect=end, hops=hops, ended=ended, reason=reason, waits=waits, **made)


def _ending(url: str, kind: Kind, fetched: _Fetched, known: _Known, steps: int = 0) -> tuple[How, str | None, str]:
    """How a page ended: the outcome, its reason, and what it waits for."""
    row = fetched.rows.get(url)
    if row is not None and row["final"]:
        if row["reason"] is not None:
            return "failed", row["reason"], ""
        return ("redirected" if row["redirect"] else "fetched"), None, ""
    place = known.places.get(url)
    if place is not None:
        if place.reason:
            return "refused", place.reason, ""
        return ("fetched" if place.state == "done" else "waiting"), None, _waits(place)
    refused = known.refusal(url, kind, steps)
    if refused is not None:
        return "refused", refused.value, ""
    if known.waits(url):
        return "waiting", None, "its domain has no worker yet"
    return "unknown", None, ""


def _waits(place: Place) -> str:
    if place.state == "done":
        return ""
    if place.set_aside:
        return "its site kept failing and is set aside"
    return f"another try, after {place.tries}" if place.state == "retry" else "its turn"


class _Fetched:
    """The rows of seeds, and of where they lead; read once."""

    def __init__(self, files: CrawlFiles, seeds: Collection[str]) -> None:
        self.rows: dict[str, dict[str, Any]] = {}  # by URL: its last fetch
        self.tries: dict[str, int] = {}
        self.added: dict[str, None] = {}  # seeds that are not on the list
        self.pages: dict[str, int] = {}  # by site: good ones
        self._seeds = set(seeds)
        self._ids = np.sort(np.array(fingerprints(seeds), dtype=np.uint64).view(np.int64))
        for batch in files.batches("pages", _COLUMNS):
            self._take(batch)

    def __repr__(self) -> str:
        return f"_Fetched({len(self.rows)} of {len(self._seeds)} seeds)"

    def _take(self, batch: pa.RecordBatch) -> None:
        kind = batch.column("kind").cast(pa.string())
        no_page = pc.is_in(kind, value_set=pa.array(NO_PAGES))
        final, status = batch.column("final"), batch.column("status")
        good = pc.and_kleene(pc.and_kleene(final, pc.invert(no_page)), pc.is_null(batch.column("reason")))
        good = pc.and_kleene(good, pc.and_kleene(pc.greater_equal(status, 200), pc.less(status, 300)))
        for each in pc.value_counts(batch.filter(good).column("site")):
            site = each["values"].as_py()
            self.pages[site] = self.pages.get(site, 0) + each["counts"].as_py()
        ours = self._is_seed(batch.column("id")) | self._is_seed(batch.column("redirected_from"))
        led = pc.and_kleene(
            pc.is_in(kind, value_set=pa.array(["seed", "redirect"])), pc.equal(batch.column("depth"), 0)
        )
        wanted = pc.and_kleene(pc.or_kleene(pa.array(ours), led), pc.invert(no_page))
        for row in batch.filter(wanted).to_pylist():
            self._note(row)

    def _is_seed(self, ids: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
        asked = np.asarray(ids.to_numpy(zero_copy_only=False), dtype=np.int64)
        if not len(self._ids):
            return np.zeros(len(asked), np.bool_)
        place = np.minimum(np.searchsorted(self._ids, asked), len(self._ids) - 1)
        return np.asarray(self._ids[place] == asked)

    def _note(self, row: dict[str, Any]) -> None:
        url = row["url"]
        self.tries[url] = self.tries.get(url, 0) + 1
        if row["kind"] == "seed" and url not in self._seeds:
            self.added[url] = None
        before = self.rows.get(url)
        if before is None or before["fetched_at"] <= row["fetched_at"]:
            self.rows[url] = row

    def is_done(self, url: str) -> bool:
        """Does a row say how a page ended?"""
        row = self.rows.get(url)
        return row is not None and bool(row["final"])

    def end(self, url: str) -> tuple[str, int]:
        """Where a URL leads in the end, and by how many redirects."""
        hops = 0
        while (
            hops < MOST_HOPS and self.is_done(url) and self.rows[url]["redirect"] and self.rows[url]["reason"] is None
        ):
            url = self.rows[url]["redirect"]
            hops += 1
        return url, hops


class _Known:
    """What frontiers and rules say of URLs that no final row tells of."""

    def __init__(self, out: Path, settings: Settings, urls: Collection[str]) -> None:
        self.places = places(out, urls) if urls else {}
        self._scope = laws_of(out, settings) if urls else None
        left = [url for url in urls if url not in self.places and self.refusal(url, Kind.SEED, 0) is None]
        self._waiting = set(_waiting(out, left))

    def __repr__(self) -> str:
        return f"_Known({len(self.places)} places, {len(self._waiting)} wait)"

    def refusal(self, url: str, kind: Kind, steps: int) -> Reason | None:
        """What the rules say of a seed, or of where one leads."""
        return None if self._scope is None else first_refusal(FOUND, self._scope, candidate(url, kind, 0, steps))

    def waits(self, url: str) -> bool:
        """Does it wait in the global frontier?"""
        return url in self._waiting


def _waiting(out: Path, urls: list[str]) -> Iterator[str]:
    """Those of some URLs that wait in the global frontier."""
    if not urls or not frontier_exists(out):
        return
    shared = open_frontier(out)
    try:
        yield from (url for url in urls if shared.waits(url))
    finally:
        shared.close()
