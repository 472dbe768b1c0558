"""A graph on disk. In: a graph, and what else is known of its pages. Out: a directory; and back, mapped into memory.

`graph.json` says what is there and where it came from; each array is a `.npy` file, so that a graph of 40 million links
is loaded in no time and shared by the processes that read it. A directory is written beside its place and renamed when
it is whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft import disk
from weft.clock import Clock, SystemClock
from weft.disk import Writer, replace_file, replacing, write_new, writing
from weft.errors import UsageError
from weft.graph.hosting import Hosting
from weft.graph.model import Graph

FORMAT = 1
NOTE = "graph.json"

_CLOCK = SystemClock()
_GRAPH: dict[str, type[np.generic]] = {
    "first_page": np.int32,
    "offsets": np.int64,
    "links": np.int32,
    "seeds": np.int32,
    "parent": np.int32,
    "depth": np.uint8,
}
_MORE: dict[str, type[np.generic]] = {"ids": np.int64, "scores": np.float64, "old_scores": np.float64}
_HOSTING: dict[str, type[np.generic]] = {"domain": np.uint64, "address": np.uint64, "farm": np.int32}  # by site


class Urls:
    """The pages' URLs, one text cut by offsets.

    >>> urls = Urls.of(["http://a.test/", "http://b.test/"])
    >>> len(urls), urls[1]
    (2, 'http://b.test/')
    """

    def __init__(self, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.text = text
        self.offsets = offsets

    @classmethod
    def of(cls, urls: list[str]) -> Urls:
        """The texts of a list."""
        texts = [url.encode() for url in urls]
        offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)])
        return cls(np.frombuffer(b"".join(texts), dtype=np.uint8), offsets.astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[str]:
        return (self[page] for page in range(len(self)))

    def __getitem__(self, page: int) -> str:
        if not 0 <= page < len(self):
            raise IndexError(page)
        return self.text[self.offsets[page] : self.offsets[page + 1]].tobytes().decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A graph with what is known of its pages; None where nothing is."""

    graph: Graph
    ids: NDArray[np.int64] | None = None
    """The pages' ids in the file they were imported from."""
    urls: Urls | None = None
    scores: NDArray[np.float64] | None = None
    """PageRank."""
    old_scores: NDArray[np.float64] | None = None
    """PageRank in an earlier snapshot, times N_old / N; NaN: the page is new."""
    hosting: Hosting | None = None
    """Where its sites are."""
    about: dict[str, Any] = field(default_factory=dict)
    """Where the graph came from, and when; what was dropped."""

    def id_of(self, pages: NDArray[np.integer]) -> NDArray[np.int64]:
        """The ids of pages in the imported file, or their numbers where there are none."""
        return np.asarray(pages, dtype=np.int64) if self.ids is None else np.asarray(self.ids[pages])


def save(stored: Stored, path: Path, *, clock: Clock = _CLOCK) -> None:
    """Write the graph into a directory; one that is there already is replaced if it is a graph."""
    with replacing(path, check_replaceable) as folder, writing(path):
        write(stored, folder, clock)


def check_replaceable(path: Path) -> None:
    """Refuse a place where something other than a graph is; to be asked before the work is done."""
    disk.check_replaceable(path, "graph", is_one=lambda folder: (folder / NOTE).exists())


def save_scores(path: Path, scores: NDArray[np.float64], how: dict[str, Any]) -> None:
    """Put PageRank into a graph that is on disk, and how it was computed."""
    note = _read_note(path)
    note["about"]["rank"] = how
    with writing(path):
        # The numbers first: what is said of them may be missing, not the other way round.
        replace_file(path / "scores.npy", npy(np.asarray(scores, dtype=np.float64)))
        replace_file(path / NOTE, _json(note))


def load(path: Path) -> Stored:
    """The graph of a directory, mapped into memory."""
    note = _read_note(path)
    pages, sites = note["pages"], note["sites"]
    lengths = {
        "first_page": sites + 1,
        "offsets": pages + 1,
        "links": note["links"],
        "seeds": note["seeds"],
        "parent": pages,
        "depth": pages,
        "ids": pages,
        "scores": pages,
        "old_scores": pages,
    }
    graph = Graph(**{name: read_array(path, name, dtype, lengths[name]) for name, dtype in _GRAPH.items()})
    more = {
        name: read_array(path, name, dtype, lengths[name]) if (path / f"{name}.npy").exists() else None
        for name, dtype in _MORE.items()
    }
    hosting = None
    if (path / "site_domain.npy").exists():
        hosting = Hosting(*(read_array(path, f"site_{name}", dtype, sites) for name, dtype in _HOSTING.items()))
    return Stored(graph=graph, urls=_read_urls(path, pages), about=note["about"], hosting=hosting, **more)


def _read_note(path: Path) -> dict[str, Any]:
    where = str(path / NOTE)
    try:
        note = msgspec.json.decode((path / NOTE).read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        todo = "make one by `weft graph import`, `build` or `generate`"
        raise UsageError("there is no graph here", where=str(path), todo=todo) from error
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"cannot read the graph: {error}", where=where, todo="make it again") from error
    if not isinstance(note, dict) or note.get("format") != FORMAT:
        found = note.get("format") if isinstance(note, dict) else None
        raise UsageError(
            f"this graph has format {found}, and this version of weft reads format {FORMAT}",
            where=where,
            todo="make it again",
        )
    if not {"pages", "sites", "links", "seeds", "about"} <= note.keys():
        raise UsageError("this does not say what the graph holds", where=where, todo="make it again")
    return note


def read_array(path: Path, name: str, dtype: type[np.generic], length: int) -> NDArray[Any]:
    """An array of a graph's directory, mapped into memory."""
    file = path / f"{name}.npy"
    try:
        array = np.load(file, mmap_mode="r") if length else np.load(file)
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"the graph is damaged: {error}", where=str(file), todo="make it again") from error
    if array.dtype != dtype or array.shape != (length,):
        found = f"{array.shape} numbers of type {array.dtype}, not {length} of type {np.dtype(dtype)}"
        raise UsageError(f"the graph is damaged: {found}", where=str(file), todo="make it again")
    return np.asarray(array)


def _read_urls(path: Path, pages: int) -> Urls | None:
    if not (path / "url_offsets.npy").exists():
        return None
    offsets = read_array(path, "url_offsets", np.int64, pages + 1)
    file = path / "urls.bin"
    try:
        size = file.stat().st_size
        if size != offsets[-1]:
            raise UsageError(
                f"the graph is damaged: {size} bytes of URLs, not {offsets[-1]}", where=str(file), todo="make it again"
            )
        text = np.memmap(file, dtype=np.uint8, mode="r") if size else np.empty(0, dtype=np.uint8)
    except OSError as error:
        raise UsageError(f"the graph is damaged: {error}", where=str(file), todo="make it again") from error
    return Urls(np.asarray(text), offsets)


def write(stored: Stored, folder: Path, clock: Clock) -> None:
    """Write a graph's files into a directory that is being made."""
    graph = stored.graph
    for name in _GRAPH:
        write_new(folder / f"{name}.npy", npy(getattr(graph, name)))
    for name in _MORE:
        if (array := getattr(stored, name)) is not None:
            write_new(folder / f"{name}.npy", npy(array))
    if stored.hosting is not None:
        for name in _HOSTING:
            write_new(folder / f"site_{name}.npy", npy(getattr(stored.hosting, name)))
    if stored.urls is not None:
        urls = stored.urls
        write_new(folder / "url_offsets.npy", npy(urls.offsets))
        write_new(folder / "urls.bin", lambda file: file.write(urls.text.data))
    made = datetime.fromtimestamp(clock.wall(), UTC).isoformat(timespec="seconds")
    note = {
        "format": FORMAT,
        "sites": graph.sites,
        "pages": graph.pages,
        "links": len(graph.links),
        "seeds": len(graph.seeds),
        "about": {**stored.about, "made": made},
    }
    write_new(folder / NOTE, lambda file: file.write(_json(note)))


def npy(array: NDArray[Any]) -> Writer:
    """What writes an array to a file."""
    return lambda file: np.save(file, np.ascontiguousarray(array), allow_pickle=False)


def _json(note: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(note), indent=2) + b"\n"
