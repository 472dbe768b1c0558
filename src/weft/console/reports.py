"""Reports side by side. In: files of JSON that weft wrote: of crawls (`weft report --json`), simulations and temporal
analyses (`summary.json`). Out: for each kind, a table of their numbers, a column a report.

The operator names the files when the console is opened; no request does. Reports of one kind have their numbers in the
same places, and a place is named by the keys that lead to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from weft.errors import UsageError

SUMMARY = "summary.json"
_LARGEST = 20_000_000  # bytes
_MOST = 2000  # numbers of a report
_DEEPEST = 6


class Report(NamedTuple):
    """One of them."""

    name: str
    kind: str
    numbers: dict[str, str]  # by place


class Line(NamedTuple):
    """What the reports say in one place."""

    place: str
    said: list[str]  # "" where one says nothing
    alike: bool


def file_of(path: Path) -> Path:
    """The file of a report that is given as itself, or as the folder that it is in."""
    file = path / SUMMARY if path.is_dir() else path
    if not file.is_file():
        raise UsageError(
            "there is no report here", where=str(path), todo=f"give a file of JSON, or a folder with {SUMMARY}"
        )
    return file


def read_report(path: Path) -> Report:
    """A report, as far as it is numbers and short texts."""
    file = file_of(path)
    try:
        if file.stat().st_size > _LARGEST:
            raise UsageError("this is too large for a report", where=str(file), todo="give another file")
        values = msgspec.json.decode(file.read_bytes())
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"this report cannot be read: {error}", where=str(file), todo="give a file of JSON") from error
    if not isinstance(values, dict):
        raise UsageError("this is no report", where=str(file), todo="give a file that weft wrote")
    numbers: dict[str, str] = {}
    for place, said in _numbers(values):
        if len(numbers) >= _MOST:
            break
        numbers[place] = said
    return Report(str(Path(*path.parts[-2:])), str(values.get("kind", "other")), numbers)


def side_by_side(reports: Sequence[Report], text: str = "") -> dict[str, tuple[list[str], list[Line]]]:
    """By kind: the names of its reports, and what they say in each place that has a text in its name.

    >>> first, second = (Report(name, "k", {"pages": pages, "seed": "1"}) for name, pages in (("a", "5"), ("b", "7")))
    >>> side_by_side([first, second], "pa")
    {'k': (['a', 'b'], [Line(place='pages', said=['5', '7'], alike=False)])}
    """
    found = {}
    for kind in dict.fromkeys(report.kind for report in reports):
        some = [report for report in reports if report.kind == kind]
        places = dict.fromkeys(place for report in some for place in report.numbers)
        wanted = [place for place in places if text.casefold() in place.casefold()]
        lines = [(place, [report.numbers.get(place, "") for report in some]) for place in wanted]
        found[kind] = [report.name for report in some], [Line(*each, alike=len(set(each[1])) == 1) for each in lines]
    return found


def _numbers(value: Any, place: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The numbers and short texts in a value, each with its place; lists of plain values are curves, and left out."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, each in value.items():
            if key == "kind":
                continue  # it is the heading
            yield from _numbers(each, f"{place}.{key}" if place else str(key), depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for number, each in enumerate(value):
            if isinstance(each, dict):
                name = next((text for text in each.values() if isinstance(text, str)), str(number))
                yield from _numbers(each, f"{place}.{name}", depth + 1)
    elif isinstance(value, bool) or value is None:
        yield place, {True: "yes", False: "no", None: "not known"}[value]
    elif isinstance(value, int):
        yield place, f"{value:,}"
    elif isinstance(value, float):
        yield place, f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:,.6g}"
    elif isinstance(value, str) and len(value) < 200:
        yield place, value
