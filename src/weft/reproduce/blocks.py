"""A text that becomes a page of HTML or of Markdown. In: blocks. Out: either.

>>> table = Table(("ordering", "average"), (("opic", "0.68"),))
>>> print(markdown([Heading("Results"), table, Text("Done.")], "Report", {}))
# Report
<BLANKLINE>
## Results
<BLANKLINE>
| ordering | average |
| --- | ---: |
| opic | 0.68 |
<BLANKLINE>
Done.
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.printing.figures import Figure, show
from weft.printing.page import Cell, Column, Page, Tone
from weft.reproduce.verdicts import COMES_OUT, DOES_NOT


@dataclass(frozen=True, slots=True)
class Heading:
    """The beginning of a section."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """Several things, one below the other."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows; all columns but the first `names` ones and the last `words` ones are numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    names: int = 1
    words: int = 0

    def is_number(self, column: int) -> bool:
        """Whether a column is aligned to the right."""
        return self.names <= column < len(self.columns) - self.words


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, by its name."""

    name: str


Block = Heading | Text | Points | Table | Picture

_TONES: dict[str, Tone] = {COMES_OUT: "good", DOES_NOT: "bad"}


def html(blocks: Sequence[Block], title: str, figures: Mapping[str, Figure], drawn: Mapping[str, str]) -> str:
    """A page that needs no other file; `drawn` has the SVG of each figure."""
    page = Page(title)
    for block in blocks:
        match block:
            case Heading():
                page.section(block.text)
            case Text():
                page.paragraph(_plain(block.text))
            case Points():
                page.bullets(map(_plain, block.items))
            case Table():
                columns = [Column(name, number=block.is_number(at)) for at, name in enumerate(block.columns)]
                rows = [[Cell(_plain(cell), _TONES.get(cell, "")) for cell in row] for row in block.rows]
                page.table(columns, rows, block.caption)
            case Picture() if block.name in figures:
                show(page, figures[block.name], drawn[block.name], "figures")
    return page.html()


def _plain(text: str) -> str:
    """Without Markdown's marks.

    >>> _plain("*comes out*: `weft reproduce`")
    'comes out: weft reproduce'
    """
    return re.sub(r"\*+([^*]+)\*+", r"\1", text).replace("`", "")


def markdown(blocks: Sequence[Block], title: str, figures: Mapping[str, Figure], folder: str = "figures") -> str:
    """A page whose figures are files in a folder beside it."""
    parts = [f"# {title}"]
    for block in blocks:
        match block:
            case Heading():
                parts.append(f"## {block.text}")
            case Text():
                parts.append(block.text)
            case Points():
                parts.append("\n".join(f"- {item}" for item in block.items))
            case Table():
                parts += [block.caption] if block.caption else []
                parts.append(_table(block))
            case Picture() if block.name in figures:
                figure = figures[block.name]
                parts.append(f"![{figure.alternative}]({folder}/{block.name}.svg)")
                parts.append(f"*{figure.caption}*")
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    rules = ["---:" if table.is_number(at) else "---" for at in range(len(table.columns))]
    rows = [table.columns, rules, *table.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
