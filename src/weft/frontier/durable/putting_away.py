"""Groups that go to the shelf, made from files. In: what a frontier's files say. Out: everything that is known of each
group that was put away, as pieces in the order of keys.

The pages of such a group lie anywhere in logs and segments. So these are read once, in their order, and what is wanted
of them goes to as many files without names as it takes for each to fit into memory; a group is in one of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.frontier.durable import past as states
from weft.frontier.durable.log import FrontierLog
from weft.frontier.durable.parcels import DONE, PENDING, REFUSED, RETRY, Content, SiteParcel
from weft.frontier.durable.past import GONE, Past
from weft.frontier.durable.records import Shelved
from weft.frontier.durable.shelf import WHOLE, Pieces, pieces_of

_FIT = 1 << 20  # pages that are put in order at once
_SOME = 2_000  # groups that are given at once

_PAGE = np.dtype(
    [
        ("group", "<i4"),  # its place in the order of keys
        ("page", "<i8"),
        ("site", "<i4"),
        ("via", "<u8"),
        ("depth", "<u2"),
        ("kind", "u1"),
        ("steps", "u1"),
        ("length", "<u4"),  # of its text
    ]
)


class Whole(msgspec.Struct, array_like=True):
    """A group, as it stands on the shelf."""

    group: str
    content: Content


def encoded(whole: Whole) -> bytes:
    """As it stands in a piece."""
    return msgspec.msgpack.encode(whole)


decoded = msgspec.msgpack.Decoder(Whole).decode


class _Bucket(NamedTuple):
    """Pages of some groups."""

    rows: IO[bytes]
    texts: IO[bytes]


class PuttingAway:
    """The groups of a frontier that are put away with its next checkpoint."""

    def __init__(self, past: Past, log: FrontierLog, scores: NDArray[np.float64], checkpoint: int) -> None:
        self._past = past
        self._log = log
        self._scores = scores
        self._checkpoint = checkpoint
        self._groups: list[Shelved] = sorted(past.leaving, key=lambda group: group.key)
        self._group_of = np.full(len(past.names) + 1, -1, np.int32)  # by site; the last is of none
        for place, group in enumerate(self._groups):
            self._group_of[group.sites] = place
        self._robots = past.robots()
        self._special = past.special()
        self._waiting = past.waiting()
        self._states = past.page_states()

    def __repr__(self) -> str:
        return f"PuttingAway({len(self._groups)} groups)"

    def pieces(self, folder: Path) -> Iterator[Pieces]:
        """A piece for each of them, in the order of keys. Files without names are made in a folder."""
        if not self._groups:
            return
        sites = self._past.sites(leaving=True)
        counts = np.bincount(self._group_of[sites] + 1, minlength=len(self._groups) + 1)[1:]
        bucket_of = ((np.cumsum(counts) - counts) // _FIT).astype(np.int64)
        buckets = [
            _Bucket(tempfile.TemporaryFile(dir=folder), tempfile.TemporaryFile(dir=folder))  # noqa: SIM115
            for _ in range(int(bucket_of[-1]) + 1)
        ]
        try:
            self._spread(buckets, bucket_of)
            begin = 0
            for bucket, files in enumerate(buckets):
                end = int(np.searchsorted(bucket_of, bucket, side="right"))
                yield from self._of_bucket(files, begin, end)
                begin = end
        finally:
            for files in buckets:
                files.rows.close()
                files.texts.close()

    def _spread(self, buckets: list[_Bucket], bucket_of: NDArray[np.int64]) -> None:
        """Read all pages once; those that leave go to their buckets."""
        for first, sites, rows, texts in self._log.stored():
            groups = self._group_of[sites]
            chosen = np.flatnonzero(groups >= 0)
            if not len(chosen):
                continue
            ends = rows["end"].astype(np.int64)
            starts = np.concatenate([[0], ends[:-1]])
            found = np.empty(len(chosen), _PAGE)
            found["group"], found["page"], found["site"] = groups[chosen], first + chosen, sites[chosen]
            for name in ("via", "depth", "kind", "steps"):
                found[name] = rows[name][chosen]
            found["length"] = (ends - starts)[chosen]
            view, begins = memoryview(texts), starts[chosen].tolist()
            parts = [
                view[begin : begin + length] for begin, length in zip(begins, found["length"].tolist(), strict=True)
            ]
            where = bucket_of[found["group"]]
            for bucket in np.unique(where).tolist():
                ours = np.flatnonzero(where == bucket)
                buckets[bucket].rows.write(found[ours].tobytes())
                buckets[bucket].texts.write(b"".join([parts[place] for place in ours.tolist()]))

    def _of_bucket(self, files: _Bucket, begin: int, end: int) -> Iterator[Pieces]:
        files.rows.seek(0)
        files.texts.seek(0)
        rows = np.frombuffer(files.rows.read(), _PAGE)
        data = files.texts.read()
        ends = np.cumsum(rows["length"], dtype=np.int64).tolist()
        texts = [data[start:stop] for start, stop in zip([0, *ends], ends, strict=False)]
        order = np.argsort(rows["group"], kind="stable")
        rows = rows[order]
        bounds = np.searchsorted(rows["group"], np.arange(begin, end + 1)).tolist()
        places = order.tolist()
        some: list[tuple[int, int, int, bytes]] = []
        for group, start, stop in zip(range(begin, end), bounds, bounds[1:], strict=False):
            whole = self._whole(self._groups[group], rows[start:stop], [texts[place] for place in places[start:stop]])
            some.append((self._groups[group].key, self._checkpoint, WHOLE, encoded(whole)))
            if len(some) == _SOME:
                yield pieces_of(some)
                some = []
        if some:
            yield pieces_of(some)

    def _whole(self, group: Shelved, rows: NDArray[Any], texts: list[bytes]) -> Whole:
        past, first = self._past, self._past.first
        state = self._states[rows["page"] - first]
        if (state == states.REPLACED).any():
            kept = np.flatnonzero(state != states.REPLACED)
            rows, state, texts = rows[kept], state[kept], [texts[place] for place in kept.tolist()]
        where = np.full(len(rows), PENDING, np.uint8)
        where[state == states.DONE] = DONE
        where[state >= states.REFUSED] = REFUSED
        retries, requests = list[tuple[int, int, float]](), list[tuple[int, bytes]]()
        if self._waiting or self._special:
            for place, page in enumerate(rows["page"].tolist()):
                if page in self._waiting:
                    where[place] = RETRY
                    retries.append((place, *self._waiting[page]))
                if page in self._special:
                    requests.append((place, self._special[page]))
        refused = {
            past.reasons[code - states.REFUSED]: np.flatnonzero(state == code).astype(np.uint32).tobytes()
            for code in np.unique(state[state >= states.REFUSED]).tolist()
        }
        sites = sorted(group.sites)
        content = Content(
            [self._site(number) for number in sites],
            urls=b"\n".join(texts),
            site=np.searchsorted(sites, rows["site"]).astype(np.int32).tobytes(),
            via=rows["via"].tobytes(),
            depth=rows["depth"].tobytes(),
            kind=rows["kind"].tobytes(),
            state=where.tobytes(),
            retries=retries,
            scores=self._scores[rows["page"] - first].tobytes() if len(self._scores) else b"",
            steps=rows["steps"].tobytes() if rows["steps"].any() else b"",
            refused=refused,
            requests=requests,
        )
        return Whole(group.group, content)

    def _site(self, number: int) -> SiteParcel:
        files = self._robots.get(number, {})
        robots = {scheme: self._log.read(file.extent) for scheme, file in files.items()}
        return SiteParcel(self._past.names[number], self._past.states.get(number, b""), robots)


def finished(past: Past) -> None:
    """The groups that were put away are in a run: nothing of them is left elsewhere."""
    for group in past.leaving:
        for number in group.sites:
            past.forget(number)
    past.leaving, past.mail, past.returned = [], [], []


def floor(past: Past) -> int:
    """The first page whose group is here."""
    here = past.sites() != GONE
    return past.first + (int(np.argmax(here)) if here.any() else len(here))
