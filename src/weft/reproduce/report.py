"""The report in files. In: the values. Out: a directory, or pages of the documentation.

    values.json              every published value, ours for each seed, the verdict; what the figures are drawn from
    index.html               the report in one page that needs no other file
    figures/*.{svg,png,csv}  its figures, and the numbers of each

Invariant: the directory is there whole or not at all; an earlier report is replaced, anything else is left alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft import disk
from weft.disk import replace_file, replacing, writing
from weft.errors import UsageError
from weft.printing import plots
from weft.printing.figures import write_figures
from weft.reproduce.blocks import html, markdown
from weft.reproduce.document import TITLE, document
from weft.reproduce.figures import draw
from weft.reproduce.values import KIND

VALUES = "values.json"
_OURS = {VALUES, "index.html", "figures"}


def write_report(values: Mapping[str, Any], out: Path) -> None:
    """Write the directory."""
    figures = draw(values)
    with replacing(out, check_replaceable) as folder:
        text = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False)
        (folder / VALUES).write_text(text + "\n", encoding="utf-8")
        drawn = write_figures(folder / "figures", figures.values())
        (folder / "index.html").write_text(html(document(values), TITLE, figures, drawn), encoding="utf-8")


def write_docs(values: Mapping[str, Any], docs: Path) -> None:
    """Write `reproduction.md` and its figures into a documentation's directory."""
    figures = draw(values)
    with writing(docs):
        (docs / "figures").mkdir(exist_ok=True)
        for name, figure in figures.items():
            (docs / "figures" / f"{name}.svg").write_text(plots.svg(figure.chart), encoding="utf-8")
        replace_file(docs / "reproduction.md", markdown(document(values), TITLE, figures).encode())


def read_values(out: Path) -> dict[str, Any]:
    """The values of a report that is there."""
    path = out / VALUES
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the report: {error}", where=str(path), todo="run `weft reproduce`") from error
    if not isinstance(values, dict) or values.get("kind") != KIND:
        raise UsageError("this is no report of `weft reproduce`", where=str(path), todo="give its directory")
    return values


def check_replaceable(out: Path) -> None:
    """Refuse a place where something else is than an earlier report; to be asked before the work is done."""
    disk.check_replaceable(out, "report", is_one=_is_report, is_ours=_OURS.__contains__)


def _is_report(folder: Path) -> bool:
    """Whether the values there are ours: other programs write files of that name too."""
    try:
        read_values(folder)
    except UsageError:
        return False
    return True
