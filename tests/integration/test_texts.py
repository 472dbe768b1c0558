"""Texts of a crawl: its stage, its conversion records, and `weft text` afterwards, read back by others' readers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from tests import documents
from tests.commands import weft
from tests.crawling import rows
from tests.small_site import Answer, SmallSite, links, small_site
from warcio.archiveiterator import ArchiveIterator

from weft.app import Summary, run
from weft.clock import SystemClock
from weft.config import Settings
from weft.directory import Plan
from weft.parse import apart
from weft.stages.language import Languages
from weft.stages.text import Texts
from weft.texts import _Parts, make_texts

NAMES = (*documents.SOUND, "doc", "broken", "deep", "page", "again")


@pytest.fixture(scope="module")
def site() -> Iterator[SmallSite]:
    """A site with a document of each format, broken ones, a page with links, and a second copy of it."""
    pages: dict[str, Any] = {f"/{name}": Answer(body, documents.TYPES[name]) for name, body in documents.SOUND.items()}
    pages["/doc"] = Answer(documents.ole({"WordDocument": b"x"}), documents.TYPES["doc"])
    pages["/broken"] = Answer(documents.docx()[:300], documents.TYPES["docx"])
    pages["/deep"] = Answer(b"<div>" * 5000 + b"deep words in it")
    pages["/page"] = pages["/again"] = Answer(documents.html(("Words of a page, which stands here twice.",)))
    pages["/"] = Answer(links(*(f"/{name}" for name in NAMES)))
    with small_site(pages) as served:
        yield served


def collect(site: SmallSite, out: Path, **changes: Any) -> Summary:
    """A crawl of the site that takes every type."""
    values = {"wait": 0.0, "per_visit": 50, "types": ["*/*"], "allow_address": ["127.0.0.0/8"], "commit_every": 0.2}
    settings = Settings().with_values(values | changes, where="a test")
    return run(Plan(seeds=[site.url()], out=out, settings=settings))


def texts(out: Path, what: str, where: str = "true") -> dict[str, Any]:
    """What the columns say, by name of the document."""
    found = rows(out, f"url, {what}", f"final and kind <> 'robots' and {where}")
    return {url.rpartition("/")[2]: values for url, *values in found}


def test_text__of_every_format_is_in_the_columns(site: SmallSite, tmp_path: Path) -> None:
    """With its length, its format, and the reason where there is none; and the page is never lost."""
    summary = collect(site, tmp_path / "crawl", text="both")
    assert (summary.pending, summary.counts.faults) == (0, 0)
    found = texts(
        tmp_path / "crawl",
        "text, whole_text, text_characters, text_words, text_format, text_reason, text_signs, reason",
    )
    assert set(found) == {*NAMES, ""}
    for name in documents.SOUND:
        text, whole, characters, words, form, reason, _, failed = found[name]
        assert all(each in text for each in documents.PARAGRAPHS), name
        assert (characters, words, form, reason, failed) == (len(text), len(text.split()), name, None, None)
        assert ("Menu" in whole) == (name == "html")
    assert "Menu" not in found["html"][0]
    assert found["doc"][4:6] == ["doc", "no-extractor"]
    assert found["broken"][4:6] == ["docx", "broken"]
    assert found["deep"][0] == "deep words in it"
    assert found["deep"][5] == "too-deep"
    assert found["deep"][6] == "no-links"


def test_conversion_records__are_read_by_warcio_and_fastwarc(site: SmallSite, tmp_path: Path) -> None:
    """Each refers to the response that it was made of; a content that came twice has one; rows then hold no text."""
    out = tmp_path / "crawl"
    collect(site, out, text="whole", text_as="warc")
    found = texts(out, "text, text_words, text_reason")
    assert all(text is None for text, *_ in found.values())
    assert found["pdf"][1] > 0
    volume = next((out / "volumes").glob("*.warc.gz"))
    responses, converted = {}, {}
    with volume.open("rb") as file:
        for record in ArchiveIterator(file, check_digests=True):
            head, name = record.rec_headers, (record.rec_headers["WARC-Target-URI"] or "").rpartition("/")[2]
            if record.rec_type == "response":
                responses[head["WARC-Record-ID"]] = name
            elif record.rec_type == "conversion":
                converted[name] = record.content_stream().read().decode()
                assert responses[head["WARC-Refers-To"]] == name
                assert head["Content-Type"] == "text/plain; charset=utf-8"
                assert record.digest_checker.passed
    assert all(each in converted[name] for name in documents.SOUND for each in documents.PARAGRAPHS)
    assert len({"page", "again"} & set(converted)) == 1
    assert not {"doc", "broken"} & set(converted)
    with volume.open("rb") as file:
        again = [
            record.headers["WARC-Target-URI"].rpartition("/")[2]
            for record in FastIterator(file, record_types=WarcRecordType.conversion)
            if record.verify_block_digest()
        ]
    assert sorted(again) == sorted(converted)
    lines = next((out / "volumes").glob("*.cdxj")).read_text().splitlines()
    assert not [line for line in lines if '"text/plain; charset' in line]


def test_texts__made_afterwards_are_those_of_the_stage(site: SmallSite, tmp_path: Path) -> None:
    """In a table, and as conversion records that refer to the crawl's own; a second run finds nothing to do."""
    out, made = tmp_path / "crawl", tmp_path / "made"
    collect(site, out, text="both")
    expected = texts(out, "text, whole_text, text_words, text_format, text_reason, text_signs", "duplicate_of = 0")
    report = json.loads(weft("text", out, "--out", made, "--text", "both", "--text-as", "both", "--json"))
    assert (report["new"], report["duplicates"]) == (len(expected), 1)
    asked = "select url, text, whole_text, text_words, text_format, text_reason, text_signs from "
    found = duckdb.execute(f"{asked} '{made}/*.parquet'").fetchall()
    assert {url.rpartition("/")[2]: values for url, *values in found} == expected
    assert report["formats"]["docx"] == report["formats"]["docx"] | {
        "contents": 2,
        "extracted": 1,
        "reasons": {"broken": 1},
    }
    assert report["formats"]["doc"]["reasons"] == {"no-extractor": 1}
    with next((out / "volumes").glob("*.warc.gz")).open("rb") as file:
        stored = {
            record.rec_headers["WARC-Record-ID"]: record.rec_headers["WARC-Target-URI"]
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        }
    with next(made.glob("*.warc.gz")).open("rb") as file:
        records = [
            (record.rec_headers["WARC-Target-URI"], record.content_stream().read().decode())
            for record in ArchiveIterator(file, check_digests=True)
            if record.rec_type == "conversion"
            and stored[record.rec_headers["WARC-Refers-To"]] == record.rec_headers["WARC-Target-URI"]
        ]
    assert {url.rpartition("/")[2]: text for url, text in records} == {
        name: values[1] for name, values in expected.items() if values[1]
    }
    again = json.loads(weft("text", out, "--out", made, "--text", "both", "--text-as", "both", "--json"))
    assert again == report | {"new": 0}
    assert "other settings" in weft("text", out, "--out", made, code=2)
    assert "no-extractor 1" in weft("text", out, "--out", made, "--text", "both", "--text-as", "both")


def test_texts__go_on_where_a_run_was_ended(site: SmallSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has columns is done, and no content has two texts; a WARC file without its columns is written anew."""
    out = tmp_path / "crawl"
    collect(site, out)
    monkeypatch.setattr("weft.texts._ROWS", 5)
    usual, times = _Parts.flush, 0

    def failing(self: _Parts) -> None:
        nonlocal times
        times += 1
        if times == 3:
            raise KeyboardInterrupt
        usual(self)

    monkeypatch.setattr(_Parts, "flush", failing)
    settings = Texts(text="main", text_as="both")
    with pytest.raises(KeyboardInterrupt):
        make_texts(out, None, settings, Languages(), SystemClock())
    folder = out / "texts"
    assert len(list(folder.glob("*.parquet"))) == 2
    (folder / "part-00003.warc.gz").write_bytes(b"cut off")
    monkeypatch.setattr(_Parts, "flush", usual)
    report = make_texts(out, None, settings, Languages(detect_language=False), SystemClock())
    found = duckdb.execute(f"from '{folder}/*.parquet' select url").fetchall()
    assert len(found) == len(set(found)) == report.contents == report.new + 10
    assert len(found) == len(texts(out, "url", "duplicate_of = 0"))
    with (folder / "part-00003.warc.gz").open("rb") as file:
        assert any(record.rec_type == "conversion" for record in ArchiveIterator(file))


def test_text__that_hangs_its_reader_has_a_reason_and_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A PDF that would take years is given up; the documents behind it have their texts."""
    usual = apart.Apart.__init__

    def short(self: apart.Apart, *arguments: Any, **further: Any) -> None:
        usual(self, *arguments, **further | {"seconds": 1.0})

    monkeypatch.setattr(apart.Apart, "__init__", short)
    pages = {
        "/": Answer(links("/hangs", "/pdf")),
        "/hangs": Answer(documents.endless_pdf(), "application/pdf"),
        "/pdf": Answer(documents.pdf(), "application/pdf"),
    }
    with small_site(pages) as site:
        summary = collect(site, tmp_path / "crawl", text="main", workers=1)
        assert summary.counts.faults == 0
        found = texts(tmp_path / "crawl", "text, text_reason, reason, volume")
        assert found["hangs"][:3] == [None, "ended", None]
        assert found["hangs"][3] is not None
        assert documents.FIRST in found["pdf"][0]


def test_language__of_texts_is_a_column(tmp_path: Path) -> None:
    """Beside the declared one, of any format where texts are kept, and of pages where they are not."""
    german = "Dies ist ein Absatz auf Deutsch, der von Seiten und von Wörtern handelt, die man lesen kann."
    pages = {
        "/": Answer(b"<html lang=en>" + documents.html((german,)) + links("/pdf", "/none")),
        "/pdf": Answer(documents.pdf((german,)), "application/pdf"),
        "/none": Answer(b"404"),
    }
    with small_site(pages) as site:
        for name, changes in (("with", {"text": "main"}), ("without", {})):
            collect(site, tmp_path / name, detect_language=True, **changes)
            found = texts(tmp_path / name, "detected_language, language_confidence, language")
            assert (found[""][0], found[""][2]) == ("de", "en")
            assert 0 < found[""][1] <= 1
            assert found["pdf"][0] == ("de" if name == "with" else None)
            assert found["none"][0] is None
