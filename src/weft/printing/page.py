"""One HTML page of sections, tables and figures. In: text, rows, SVG. Out: a page that needs no other file.

Everything but the SVG of a figure is escaped. The page needs no script, is readable in print, and is light or dark as
the reader has it.

>>> page = Page("Orders <1>")
>>> page.section("Results")
>>> page.table([Column("ordering"), Column("average", number=True)], [["opic", Cell("0.68", tone="good")]])
>>> "Orders &lt;1&gt;" in page.html(), '<td class="number good">0.68</td>' in page.html()
(True, True)
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["", "good", "bad", "faint"]

PALETTE = """
:root { color-scheme: light dark; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --paper: #ffffff; --band: #f6f8fa;
  --good: #0a6b4d; --bad: #a8440b; --link: #0060a8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --faint: #9aa4ae; --line: #3d444d; --paper: #0f1317; --band: #181d23;
    --good: #3fc79a; --bad: #f0925a; --link: #6cb6ff; } }
""".strip()
"""The colours of every page, for light and for dark."""
_STYLE = (
    f"{PALETTE}\n"
    + """
body { margin: 0 auto; padding: 1.5rem; max-width: 62rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, "Segoe UI", "Helvetica Neue", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
a { color: var(--link); } nav ul { columns: 16rem; }
.scroll { overflow-x: auto; margin: 1rem 0; scrollbar-width: thin; scrollbar-color: var(--faint) var(--band);
  background: linear-gradient(to right, var(--paper) 30%, transparent) left / 3rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 30%, transparent) right / 3rem 100% no-repeat local,
    linear-gradient(to right, var(--line), transparent) left / 1rem 100% no-repeat scroll,
    linear-gradient(to left, var(--line), transparent) right / 1rem 100% no-repeat scroll; }
.scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--faint); padding-bottom: .4rem; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
thead th { background: color-mix(in srgb, var(--faint) 8%, transparent); vertical-align: bottom; }
.scroll th:first-child, .scroll td:first-child { position: sticky; left: 0; background: var(--paper);
  box-shadow: 1px 0 var(--line); }
.scroll thead th:first-child { background: color-mix(in srgb, var(--faint) 8%, var(--paper)); }
.more { position: sticky; left: 0; width: fit-content; margin: 0; max-height: 0; overflow: hidden; visibility: hidden;
  color: var(--link); font-size: .875rem; animation: more linear; animation-timeline: scroll(nearest inline); }
@keyframes more { from, to { max-height: 2rem; visibility: visible; } }
th.number, td.number { text-align: right; }
td.number { white-space: nowrap; }
td.good { color: var(--good); font-weight: 600; } td.bad { color: var(--bad); font-weight: 600; }
td.faint { color: var(--faint); }
figure { margin: 1.5rem 0; } figure svg { max-width: 100%; height: auto; color: var(--ink); }
figure svg .paper { fill: none; } figcaption { color: var(--faint); }
.files { white-space: nowrap; }
@media screen and (max-width: 40rem) { body { padding: 1rem; } figure { overflow-x: auto; }
  figure svg { max-width: none; width: 36rem; } figcaption { position: sticky; left: 0; }
  .scroll td:first-child { max-width: 45vw; overflow-wrap: break-word; } }
pre { background: var(--band); padding: .75rem; overflow-x: auto; }
.warnings { border-left: .3rem solid var(--bad); padding: .25rem 1rem; background: var(--band); }
@media print {
  :root { --ink: #000000; --faint: #444444; --line: #aaaaaa; --paper: #ffffff; --band: #ffffff;
    --good: #0a6b4d; --bad: #a8440b; --link: #000000; }
  nav, .more { display: none; } .scroll { overflow: visible; background: none; } table { font-size: .75rem; }
  figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } }
""".strip()
)


_MORE = '<p class="more" aria-hidden="true">↔ scroll sideways for more columns</p>'


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; numbers are aligned to the right."""

    title: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is to be noticed, or not."""

    text: str
    tone: Tone = ""


class Page:
    """A page that grows from top to bottom."""

    def __init__(self, title: str, lead: str = "") -> None:
        self._title = title
        self._lead = lead
        self._body: list[str] = []
        self._sections: list[tuple[str, str]] = []
        self._figures = 0

    def __repr__(self) -> str:
        return f"Page({self._title!r}, sections={len(self._sections)}, figures={self._figures})"

    def section(self, title: str) -> None:
        """Begin a section."""
        name = f"s{len(self._sections) + 1}"
        self._sections.append((name, title))
        self._body.append(f'<h2 id="{name}">{_text(title)}</h2>')

    def heading(self, title: str) -> None:
        """Begin a part of a section."""
        self._body.append(f"<h3>{_text(title)}</h3>")

    def paragraph(self, text: str) -> None:
        """Say something."""
        self._body.append(f"<p>{_text(text)}</p>")

    def bullets(self, items: Iterable[str]) -> None:
        """Say several things."""
        self._body.append(_bullets(items))

    def code(self, text: str) -> None:
        """Show a command or a file as it is."""
        self._body.append(f"<pre><code>{_text(text)}</code></pre>")

    def warnings(self, items: Sequence[str]) -> None:
        """Say what the reader must know before believing the rest; nothing where there is nothing to say."""
        if items:
            self._body.append(f'<div class="warnings" role="note">{_bullets(items)}</div>')

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[str | Cell]], caption: str = "") -> None:
        """Show rows; a row must have as many cells as there are columns."""
        head = "".join(_cell("th", each.title, each, scope="col") for each in columns)
        lines = ["".join(_cell("td", cell, each) for cell, each in zip(row, columns, strict=True)) for row in rows]
        body = "\n".join(f"<tr>{line}</tr>" for line in lines)
        title = f"<caption>{_text(caption)}</caption>" if caption else ""
        whole = f"{title}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"
        # What is wider than the page scrolls: a shade shows on which side more is to come, words say so where the
        # browser can tell, the first column stays, and the keyboard gets there. A table that fits has none of it: there
        # is nothing to scroll, so the words' animation never runs.
        named = f'role="region" aria-label="{_text(caption or "table")}"'
        self._body.append(f'<div class="scroll" tabindex="0" {named}><table>{whole}</table>{_MORE}</div>')

    def values(self, pairs: Mapping[str, str], caption: str = "", heads: tuple[str, str] = ("name", "value")) -> None:
        """Show names and what they stand for."""
        self.table([Column(head) for head in heads], list(pairs.items()), caption)

    def figure(self, svg: str, *, caption: str, alternative: str, files: Mapping[str, str] | None = None) -> None:
        """Show an SVG, with a caption for all and a description for those who cannot see it; and where its files are,
        by their kinds, if they lie beside the page.
        """
        self._figures += 1
        name = f"f{self._figures}"
        drawing = _inline(svg, name, alternative)
        links = " · ".join(f'<a href="{_text(path)}">{_text(kind)}</a>' for kind, path in (files or {}).items())
        beside = f' <span class="files">{links}</span>' if links else ""
        below = f"<figcaption>Figure {self._figures}. {_text(caption)}{beside}</figcaption>"
        self._body.append(f'<figure id="{name}">\n{drawing}\n{below}</figure>')

    def html(self) -> str:
        """The whole page."""
        lead = f"<p>{_text(self._lead)}</p>\n" if self._lead else ""
        links = "".join(f'<li><a href="#{name}">{_text(title)}</a></li>' for name, title in self._sections)
        contents = f'<nav aria-label="Contents"><ul>{links}</ul></nav>\n' if len(self._sections) > 1 else ""
        body = "\n".join(self._body)
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{_text(self._title)}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n<h1>{_text(self._title)}</h1>\n"
            f"{lead}{contents}{body}\n</main>\n</body>\n</html>\n"
        )


def _text(text: str) -> str:
    return html.escape(text, quote=True)


def _bullets(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{_text(item)}</li>" for item in items) + "</ul>"


def _cell(tag: str, cell: str | Cell, column: Column, scope: str = "") -> str:
    """A cell with its alignment and its tone."""
    text, tone = (cell.text, cell.tone) if isinstance(cell, Cell) else (cell, "")
    kind = " ".join(each for each in ("number" if column.number else "", tone) if each)
    marks = (f' class="{kind}"' if kind else "") + (f' scope="{scope}"' if scope else "")
    return f"<{tag}{marks}>{_text(text)}</{tag}>"


def _inline(svg: str, name: str, alternative: str) -> str:
    """An SVG file as a part of a page: without its head, its ids made the figure's own, described."""
    drawing = svg[svg.index("<svg") :].strip()
    drawing = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', drawing)
    drawing = re.sub(r"url\(#", f"url(#{name}-", drawing)
    drawing = re.sub(r'href="#', f'href="#{name}-', drawing)
    return drawing.replace("<svg", f'<svg role="img" aria-label="{_text(alternative)}"', 1)
