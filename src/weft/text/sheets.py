"""The text of Excel's sheets. In: a file. Out: the cells, row by row; numbers as they are kept, so a date of a new
sheet is a number of days.

New ones (xlsx) are read bit by bit: libraries make room for every cell up to the last one, and a sheet with a cell in
its last corner, which happens, is larger than any memory. Old and binary ones (xls, xlsb) are read by calamine.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable

from weft.text.gathering import Gathering, Stopped, Why
from weft.text.markup import attributes_of, parse_events
from weft.text.zipped import Archive

_ZIP = b"PK\x03\x04"
_BOOK, _TEXTS, _RELATIONS = "xl/workbook.xml", "xl/sharedStrings.xml", "xl/_rels/workbook.xml.rels"
_SHEET = re.compile(r"xl/worksheets/sheet(\d{1,9})\.xml")


def read_sheets(body: bytes, charset: str, into: Gathering) -> None:
    """A line for each row that has anything in it, under the name of its sheet."""
    if body.startswith(_ZIP):
        archive = Archive(body, into)
        if _BOOK in archive.names:
            _read_new(archive, into)
            return
        archive.check_sizes()
    _read_old(body, charset, into)


def _read_new(archive: Archive, into: Gathering) -> None:
    """An xlsx: its texts stand in a list, and cells say which of them they hold."""
    texts: list[str] = []
    if _TEXTS in archive.names:
        parse_events(archive.chunks(_TEXTS), _Texts(texts))
    for name, member in _sheets_of(archive):
        into.add(f"{name}\n")
        parse_events(archive.chunks(member), _Cells(texts, into))
        into.add("\n")


def _sheets_of(archive: Archive) -> Iterable[tuple[str, str]]:
    """The sheets in their order: what they are called, and where they are."""
    where = {}
    if _RELATIONS in archive.names:
        for each in attributes_of(archive.read(_RELATIONS), "Relationship"):
            where[each.get("Id", "")] = "xl/" + each.get("Target", "").removeprefix("/xl/")
    named = [(each.get("name", ""), where.get(each.get("r:id", ""), "")) for each in _listed(archive)]
    found = [(name, member) for name, member in named if member in archive.names]
    if found:
        return found
    members = [match for name in archive.names if (match := _SHEET.fullmatch(name)) is not None]
    return [(f"sheet {match[1]}", match[0]) for match in sorted(members, key=lambda match: int(match[1]))]


def _listed(archive: Archive) -> list[dict[str, str]]:
    return attributes_of(archive.read(_BOOK), "sheet")


class _Texts:
    """Listens to the list of texts; of each, readings of Chinese characters are left out."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._pieces: list[str] = []
        self._in_text = self._in_reading = False

    def begin(self, name: str, _attributes: dict[str, str]) -> None:
        self._in_text = name == "t"
        self._in_reading |= name == "rPh"

    def end(self, name: str) -> None:
        self._in_text = False
        if name == "rPh":
            self._in_reading = False
        elif name == "si":
            self._texts.append("".join(self._pieces))
            self._pieces = []

    def words(self, text: str) -> None:
        if self._in_text and not self._in_reading:
            self._pieces.append(text)


class _Cells:
    """Listens to a sheet."""

    def __init__(self, texts: list[str], into: Gathering) -> None:
        self._texts = texts
        self._into = into
        self._row: list[str] = []
        self._pieces: list[str] = []
        self._kind = ""
        self._held = False

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            self._kind = attributes.get("t", "n")
            self._pieces = []
        self._held = name in ("v", "t")

    def end(self, name: str) -> None:
        self._held = False
        if name == "c":
            self._row.append(self._cell("".join(self._pieces)))
        elif name == "row":
            line = "\t".join(cell for cell in self._row if cell)
            self._row = []
            if line:
                self._into.add(f"{line}\n")

    def words(self, text: str) -> None:
        if self._held:
            self._pieces.append(text)

    def _cell(self, written: str) -> str:
        if self._kind == "b":
            return {"1": "TRUE", "0": "FALSE"}.get(written, written)
        if self._kind != "s":
            return written
        place = int(written) if written.isascii() and written.isdigit() else -1
        return self._texts[place] if 0 <= place < len(self._texts) else ""


def _read_old(body: bytes, _charset: str, into: Gathering) -> None:
    import python_calamine  # few crawls want it

    try:
        with python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(body)) as book:
            for name in book.sheet_names:
                into.add(f"{name}\n")
                for row in book.get_sheet_by_name(name).iter_rows():
                    line = "\t".join(cell for cell in map(_written, row) if cell)
                    into.add(f"{line}\n" if line else "")
                    into.check()
                into.add("\n")
    except python_calamine.PasswordError as error:
        raise Stopped(Why.ENCRYPTED) from error
    except (python_calamine.CalamineError, python_calamine.XmlError, python_calamine.ZipError) as error:
        raise Stopped(Why.BROKEN) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust, and no Exception
            raise
        raise Stopped(Why.BROKEN) from error


def _written(cell: object) -> str:
    """A cell as a reader sees it, about.

    >>> _written(3.0), _written(0.5), _written(True), _written("x")
    ('3', '0.5', 'TRUE', 'x')
    """
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell)
