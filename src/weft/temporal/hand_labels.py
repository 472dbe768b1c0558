"""What people say about pages and sites. In: their files, and the views. Out: labels of pages, or names of sites.

Labelled pages come as CSV (plain or packed) or Parquet, with a column `url`, a column `temporal` (true or false, yes or
no, 1 or 0) and, where there is one, a column `class`: kinds of news that may have thresholds of their own (P2 5.2). A
page that has no views here cannot teach anything and is counted. A list of sites has one site or URL a line, as a list
of seeds has. A line that cannot be understood is refused with its number.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.graph.lines import read_all
from weft.temporal.views import Views
from weft.urls import Unusable, normal_form, site_of

_YES = frozenset({"true", "yes", "1", "t", "y", "temporal"})
_NO = frozenset({"false", "no", "0", "f", "n", "untemporal"})
_NEEDED = ("url", "temporal")
_TODO = "give a CSV or Parquet file with the columns url and temporal, and class where pages have one"


@dataclass(frozen=True, slots=True)
class Labelled:
    """What people say of pages that have views; one entry a page, pages ascending."""

    page: NDArray[np.int64]
    temporal: NDArray[np.bool_]
    classes: NDArray[np.str_] | None  # None where the file has no classes
    unseen: int  # labelled pages without views


def read_labelled(path: Path, views: Views, form: Callable[[str], str]) -> Labelled:
    """Read labels; `form` gives a URL the spelling that the views have. The last label of a page holds."""
    names, rows = _parquet(path) if path.suffix == ".parquet" else _csv(path)
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        has = ", ".join(names) or "none"
        raise UsageError(f"there is no column {missing[0]}; columns are {has}", where=f"{path}, line 1", todo=_TODO)
    said: dict[str, tuple[bool, str]] = {}
    for line, row in rows:
        said[form(row["url"])] = _truth(row["temporal"], path, line), row.get("class") or ""
    at = pc.index_in(pa.array(list(said), pa.string()), value_set=views.urls)
    known = np.flatnonzero(at.is_valid().to_numpy(zero_copy_only=False))
    if not len(known):
        todo = "are these the URLs of this log?"
        raise UsageError("none of the labelled pages has views enough here", where=str(path), todo=todo)
    page = at.drop_null().to_numpy().astype(np.int64)
    values = list(said.values())
    temporal = np.array([values[each][0] for each in known], np.bool_)
    classes = np.array([values[each][1] for each in known], np.str_) if "class" in names else None
    order = np.argsort(page)
    return Labelled(page[order], temporal[order], None if classes is None else classes[order], len(said) - len(known))


def read_sites(path: Path) -> list[str]:
    """The sites of a list, in its order, each once; empty lines and comments are left out."""
    found: dict[str, None] = {}
    for number, line in enumerate(_text(path).splitlines(), 1):
        written = line.strip()
        if written and not written.startswith("#"):
            url = normal_form(written if "://" in written else f"http://{written}")
            if isinstance(url, Unusable):
                where = f"{path}, line {number}"
                raise UsageError(f"{written!r} is no site: {url}", where=where, todo="give one site or URL a line")
            found[site_of(url)] = None
    if not found:
        raise UsageError("the list has no site in it", where=str(path), todo="give one site or URL a line")
    return list(found)


_Rows = Iterable[tuple[int, dict[str, str]]]


def _csv(path: Path) -> tuple[list[str], _Rows]:
    reader = csv.DictReader(_text(path).splitlines())
    names = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = names

    def rows() -> Iterator[tuple[int, dict[str, str]]]:
        for row in reader:
            yield reader.line_num, {name: (row.get(name) or "").strip() for name in names}

    return names, rows()


def _text(path: Path) -> str:
    try:
        return read_all(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("the file is not text", where=str(path), todo="give a file in UTF-8") from error


def _parquet(path: Path) -> tuple[list[str], _Rows]:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise UsageError(f"cannot read the file: {error}", where=str(path), todo=_TODO) from error
    names = list(table.column_names)
    wanted = [name for name in (*_NEEDED, "class") if name in names]
    rows: list[dict[str, Any]] = table.select(wanted).to_pylist()
    return names, ((line, {k: "" if v is None else str(v) for k, v in row.items()}) for line, row in enumerate(rows, 1))


def _truth(text: str, path: Path, line: int) -> bool:
    said = text.lower()
    if said not in _YES | _NO:
        where = f"{path}, line {line}"
        raise UsageError(f"temporal is {text!r}, which is neither yes nor no", where=where, todo="say true or false")
    return said in _YES
