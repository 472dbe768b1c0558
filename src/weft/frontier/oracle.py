"""Scores from outside. In: a file that `weft graph rank` wrote, or any table of URLs and scores. Out: the score of a
page, by the key of its URL.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.frontier.keyed import Keyed
from weft.urls import normal_form


class Table:
    """Scores by key."""

    def __init__(self, keys: NDArray[np.uint64], scores: NDArray[np.float64]) -> None:
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self.scores = scores[order]

    def __repr__(self) -> str:
        return f"Table({len(self._keys)} URLs)"

    @classmethod
    def read(cls, path: Path, keyed: Keyed) -> Table:
        """The scores in a file; its URLs are brought to normal form."""
        urls, scores = _read(path)
        normal = [url if type(url := normal_form(text, None)) is str else "" for text in urls]
        return cls(keyed.array_of(normal), scores)

    def look_up(self, keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The score of each page, NaN for those that are not in the table."""
        if not len(self._keys):
            return np.full(len(keys), np.nan)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self.scores[at], np.nan)


def _read(path: Path) -> tuple[list[str], NDArray[np.float64]]:
    """URLs and scores: a Parquet file with these columns, or `url<TAB>score` on each line."""
    import pyarrow.parquet as pq  # most crawls have no such file

    from weft.graph.lines import chunks

    try:
        with path.open("rb") as file:
            columnar = file.read(4) == b"PAR1"
        if columnar:
            table = pq.read_table(path, columns=["url", "score"]).drop_null()
            return table.column("url").to_pylist(), table.column("score").to_numpy()
    except (OSError, pa.ArrowException) as error:
        raise UsageError(
            f"cannot read the scores: {error}", where=str(path), todo="wanted are the columns url and score"
        ) from error
    urls: list[str] = []
    scores: list[float] = []
    line = 0
    for chunk in chunks(path):
        for text in chunk.decode("utf-8", "replace").splitlines():
            line += 1
            url, tab, score = text.rpartition("\t")
            try:
                scores.append(float(score))
            except ValueError:
                tab = ""
            if not tab:
                raise UsageError(
                    f"'{text[:80]}' is no URL and score",
                    where=f"{path}:{line}",
                    todo="write url<TAB>score on each line",
                )
            urls.append(url)
    return urls, np.array(scores)


class Oracle:
    """What an ordering is told from outside: scores of an earlier crawl, or true ones."""

    def __init__(self, *, old: Table | None = None, true: Table | None = None) -> None:
        self._tables = {"old": old, "true": true}

    def __repr__(self) -> str:
        return f"Oracle({', '.join(name for name, table in self._tables.items() if table is not None)})"

    @classmethod
    def read(cls, needs: tuple[str, ...], scores: str, oracle: str, keyed: Keyed) -> Oracle:
        """From the files that an ordering's settings name: `scores` is what it needs, `oracle` what it needs beside."""
        table = Table.read(Path(scores), keyed) if scores and needs else None
        if "old" not in needs:
            return cls(true=table)
        true = Table.read(Path(oracle), keyed) if oracle and "true" in needs else None
        if table is not None and true is not None:  # PageRank sums to 1: a page of a smaller web has more of it
            table.scores *= len(table.scores) / max(1, len(true.scores))
        return cls(old=table, true=true)

    @property
    def past(self) -> NDArray[np.float64]:
        """All scores of the earlier crawl."""
        table = self._tables["old"]
        return np.zeros(1) if table is None or not len(table.scores) else np.sort(table.scores)

    def check(self, ordering: str, needs: tuple[str, ...]) -> None:
        """Refuse an ordering that needs what is not there."""
        for name in needs:
            if self._tables[name] is None:
                what = "the scores of an earlier crawl" if name == "old" else "the true scores of the pages"
                flag = "--oracle" if name == "true" and "old" in needs else "--scores"
                raise UsageError(
                    f"the ordering {ordering} needs {what}",
                    todo=f"give them with {flag} FILE; `weft graph rank GRAPH --out FILE` writes such a file",
                )

    def look_up(self, name: str, keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The score of each page by one of the tables, NaN where it is not known."""
        table = self._tables[name]
        assert table is not None
        return table.look_up(keys)
