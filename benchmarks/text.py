"""Texts by format: extracted, failed for which reason, ms and MB, beside a second library.

The contents are real ones where there are any: all answers with status 200 in the WARC files of `warc-samples` (beside
the repository, where it is there), and PDF files that packages have installed. Of every format there are also files
made here: sound ones of 200 paragraphs, and the same ones cut in the middle. Each library has the same bytes, and the
time is that of the processor. "Agree" is the share of the words of the second library that are in our text, too.
"""

from __future__ import annotations

import io
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests import documents

from benchmarks.machine import description
from weft.parse.decode import charset_of, decode_content
from weft.parse.media import detect_type
from weft.text.formats import Limits, extract
from weft.text.html import whole_text
from weft.text.plain import decoded

SAMPLES = Path(__file__).parents[2] / "shared" / "data" / "warc-samples"
MANUALS = (Path("/usr/share/doc"), Path("/usr/lib/python3"))
LIMITS = Limits(text_bytes=5_000_000, seconds=60)
MADE = 200  # paragraphs


class Content(NamedTuple):
    """A content, and where it is from."""

    source: str  # real, made, cut
    type: str
    charset: str
    body: bytes


def _real() -> list[Content]:
    """What other people's servers sent."""
    from warcio.archiveiterator import ArchiveIterator

    found: dict[bytes, Content] = {}
    for path in sorted([*SAMPLES.glob("*.warc*"), *SAMPLES.glob("pywb/*.warc*")]) if SAMPLES.exists() else ():
        with path.open("rb") as file:
            try:
                for record in ArchiveIterator(file):
                    headers = record.http_headers if record.rec_type == "response" else None
                    if headers is not None and headers.get_statuscode() == "200":
                        _take(record, found)
            except Exception as error:  # noqa: BLE001  some are broken on purpose
                print(f"{path.name}: {error}")
    return list(found.values())


def _take(record: Any, found: dict[bytes, Content]) -> None:
    headers = record.http_headers
    body, reason = decode_content(record.raw_stream.read(), headers.get_header("content-encoding") or "", 1 << 26)
    if reason is None and body:
        declared, _, parameters = (headers.get_header("content-type") or "").partition(";")
        kind = detect_type(declared, body)
        charset = (
            charset_of(body, parameters.partition("charset=")[2].strip("\"' ")) if kind.startswith("text/") else ""
        )
        found.setdefault(body, Content("real", kind, charset, body))


def _installed() -> list[Content]:
    """PDF files of packages."""
    paths = [path for folder in MANUALS if folder.exists() for path in sorted(folder.rglob("*.pdf"))]
    return [Content("real", "application/pdf", "", path.read_bytes()) for path in paths if path.is_file()]


def _made() -> list[Content]:
    """Files of each format, whole and cut."""
    words = [f"Paragraph {number}. {documents.FIRST} {documents.SECOND}" for number in range(MADE)]
    makers: dict[str, Callable[[list[str]], bytes]] = {
        "html": documents.html, "plain": documents.plain, "pdf": documents.pdf, "rtf": documents.rtf,
        "docx": documents.docx, "xlsx": documents.xlsx, "pptx": documents.pptx, "xls": documents.xls,
        "mail": documents.mail, "epub": documents.epub,
        **{name: partial(documents.opendocument, name) for name in ("odt", "ods", "odp")},
    }  # fmt: skip
    found = []
    for name, make in makers.items():
        body = make(words[:20] if name == "xls" else words)  # a hand-made sheet has one record for its texts
        found += [Content("made", documents.TYPES[name], "utf-8", body)]
        found += [Content("cut", documents.TYPES[name], "utf-8", body[: len(body) // 2])]
    for name, stream in (("doc", "WordDocument"), ("ppt", "PowerPoint Document")):
        found.append(Content("made", documents.TYPES[name], "", documents.ole({stream: b"x"})))
    return found


def _second() -> dict[str, tuple[str, Callable[[Content], str]]]:
    """A second library for each format that has one."""

    def by_selectolax(content: Content) -> str:
        from selectolax.lexbor import LexborHTMLParser

        tree = LexborHTMLParser(decoded(content.body, content.charset))
        tree.strip_tags(["script", "style", "template", "title"])
        return tree.root.text(separator=" ") if tree.root is not None else ""

    def by_pypdf(content: Content) -> str:
        from pypdf import PdfReader

        return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(content.body)).pages)

    def by_python_docx(content: Content) -> str:
        from docx import Document

        return "\n".join(each.text for each in Document(io.BytesIO(content.body)).paragraphs)

    def by_calamine(content: Content) -> str:
        from python_calamine import CalamineWorkbook

        book = CalamineWorkbook.from_filelike(io.BytesIO(content.body))
        rows = (row for name in book.sheet_names for row in book.get_sheet_by_name(name).to_python())
        return "\n".join("\t".join(map(str, row)) for row in rows)

    def by_openpyxl(content: Content) -> str:
        from openpyxl import load_workbook

        book = load_workbook(io.BytesIO(content.body), read_only=True)
        rows = (row for sheet in book for row in sheet.iter_rows(values_only=True))
        return "\n".join("\t".join(str(cell) for cell in row if cell is not None) for row in rows)

    return {
        "html": ("selectolax (lexbor)", by_selectolax),
        "pdf": ("pypdf", by_pypdf),
        "docx": ("python-docx", by_python_docx),
        "xlsx": ("calamine", by_calamine),
        "xlsx ": ("openpyxl", by_openpyxl),
    }


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


def _try(work: Callable[[], str]) -> tuple[str, float, str]:
    """What a library says of a content, what that took, and what it raised."""
    began = time.process_time()
    try:
        return work(), time.process_time() - began, ""
    except BaseException as error:  # what it raises is what is measured
        if isinstance(error, KeyboardInterrupt):
            raise
        return "", time.process_time() - began, type(error).__name__


def _agree(ours: str, theirs: str) -> tuple[int, int]:
    """How many words of theirs are in ours, and how many they are."""
    mine, other = Counter(ours.split()), Counter(theirs.split())
    return sum((mine & other).values()), sum(other.values())


def run() -> dict[str, Any]:
    """Every content by our way, and by a second one where there is one."""
    contents = [*_real(), *_installed(), *_made()]
    for content in contents:  # what is loaded on first use is loaded
        extract(content.body[:1000], content.type, content.charset, LIMITS, "both")
    second = _second()
    found: dict[str, dict[str, Any]] = {}
    for content in contents:
        ours, took = _timed(partial(extract, content.body, content.type, content.charset, LIMITS))
        name = ours.format or content.type
        of = found.setdefault(f"{name} {content.source}", _row(name, content.source, "weft"))
        _add(of, content, took, bool(ours.text), "" if ours.reason is None else ours.reason.value)
        if ours.format == "html":
            main, took = _timed(partial(extract, content.body, content.type, content.charset, LIMITS, "main"))
            of = found.setdefault(f"html {content.source} main", _row("html", content.source, "weft, main text"))
            _add(of, content, took, bool(main.text), "" if main.reason is None else main.reason.value)
        for kind, (library, read) in second.items():
            if kind.strip() == ours.format:
                theirs, took, raised = _try(partial(read, content))
                of = found.setdefault(f"{name} {content.source} {library}", _row(name, content.source, library))
                _add(of, content, took, bool(theirs.strip()), raised or ("" if theirs.strip() else "no-text"))
                same, every = _agree(ours.text, theirs)
                of["same"], of["words"] = of.get("same", 0) + same, of.get("words", 0) + every
    nested = "<div>" * 20_000
    return {
        "machine": description(),
        "contents": len(contents),
        "rows": sorted(found.values(), key=lambda row: (row["source"] != "real", row["format"], row["source"])),
        "nested_ms": {"20,000 nested tags, weft": _timed(lambda: whole_text(nested))[1] * 1e3},
    }


def _row(name: str, source: str, library: str) -> dict[str, Any]:
    return {
        "format": name, "source": source, "library": library, "contents": 0, "extracted": 0, "bytes": 0, "seconds": 0.0,
        "reasons": {},
    }  # fmt: skip


def _add(of: dict[str, Any], content: Content, took: float, read: bool, reason: str) -> None:
    of["contents"] += 1
    of["extracted"] += read
    of["bytes"] += len(content.body)
    of["seconds"] += took
    if reason:
        of["reasons"][reason] = of["reasons"].get(reason, 0) + 1


def show(result: dict[str, Any]) -> None:
    """Print the table."""
    head = ("format", "source", "by", "contents", "extracted", "MB", "ms each", "MB/s", "agree")
    print("{:<18}{:<6}{:<21}{:>9}{:>10}{:>8}{:>9}{:>8}{:>7}  why not".format(*head))
    for row in result["rows"]:
        agree = f"{row['same'] / row['words']:.1%}" if row.get("words") else ""
        speed = row["bytes"] / 1e6 / row["seconds"] if row["seconds"] else 0.0
        said = ", ".join(f"{reason} {count}" for reason, count in sorted(row["reasons"].items()))
        print(
            f"{row['format'][:17]:<18}{row['source']:<6}{row['library']:<21}{row['contents']:>9}"
            f"{row['extracted'] / row['contents']:>10.0%}{row['bytes'] / 1e6:>8.2f}"
            f"{row['seconds'] * 1e3 / row['contents']:>9.2f}{speed:>8.1f}{agree:>7}  {said}"
        )
    for name, milliseconds in result["nested_ms"].items():
        print(f"{name}: {milliseconds:.1f} ms")


if __name__ == "__main__":
    show(run())
