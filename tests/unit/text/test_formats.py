"""Texts by format: what is in them comes out, and whatever is wrong with them is a reason."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests import documents

from weft.clock import SystemClock, VirtualClock
from weft.text.formats import BY_NAME, FORMATS, Limits, extract, format_of
from weft.text.gathering import DOCS, Gathering, Stopped, Why

LIMITS = Limits(seconds=60)


@pytest.mark.parametrize("name", documents.SOUND)
def test_text__of_each_format_has_its_paragraphs_in_order(name: str) -> None:
    """As they were written, by the media type of the format."""
    found = extract(documents.SOUND[name], documents.TYPES[name], "utf-8", LIMITS)
    assert (found.format, found.reason) == (name, None)
    first, second = (found.text.find(each) for each in documents.PARAGRAPHS)
    assert 0 <= first < second
    assert "no" not in found.text.split(), "what a script holds is no text"


@pytest.mark.parametrize("name", sorted(set(documents.SOUND) - {"html", "plain", "mail"}))
def test_format__is_seen_whatever_the_content_is_called(name: str) -> None:
    """A server that knows no better calls everything bytes."""
    assert format_of(documents.SOUND[name], "application/octet-stream") is BY_NAME[name]
    assert format_of(documents.SOUND[name], "application/msword") is BY_NAME[name]


@pytest.mark.parametrize("name", documents.SOUND)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_text__of_a_cut_content_is_a_reason_and_never_an_exception(name: str, share: float) -> None:
    """What was read before the cut may be there."""
    body = documents.SOUND[name]
    found = extract(body[: int(len(body) * share)], documents.TYPES[name], "", LIMITS)
    assert found.reason is not None or found.text
    assert found.reason in (None, Why.BROKEN, Why.NO_TEXT, Why.NO_EXTRACTOR)


@pytest.mark.parametrize("name", documents.SOUND)
def test_text__of_a_content_with_a_bad_byte_is_never_an_exception(name: str) -> None:
    """Anywhere in it."""
    body = documents.SOUND[name]
    for place in range(0, len(body), max(1, len(body) // 40)):
        bad = body[:place] + bytes([body[place] ^ 0x55]) + body[place + 1 :]
        assert extract(bad, documents.TYPES[name], "", LIMITS).reason is not Why.ENDED


def test_format__of_an_archive_without_a_stretch_is_not_seen() -> None:
    """What it says of its members lies before its beginning then; by its type it is read all the same."""
    body = documents.SOUND["odt"]
    cut = body[:4] + body[24:]
    assert format_of(cut, "application/zip") is None
    assert extract(cut, "application/zip", "", LIMITS).reason is Why.NO_EXTRACTOR
    assert extract(cut, documents.TYPES["odt"], "", LIMITS).format == "odt"


def test_text__of_a_bomb_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive that unpacks to more than its limit is read no further, and neither is one whose entities do."""
    monkeypatch.setattr("weft.text.zipped.MOST_EXPANDED", 5_000_000)
    bomb = documents.zip_bomb(size=8_000_000)
    assert len(bomb) < 50_000
    assert extract(bomb, documents.TYPES["docx"], "", LIMITS).reason is Why.EXPANSION
    assert extract(documents.laughing(), documents.TYPES["docx"], "", LIMITS).reason is Why.BROKEN
    assert extract(documents.laughing("odt"), documents.TYPES["odt"], "", LIMITS).reason is Why.BROKEN


def test_text__of_a_sheet_with_a_cell_in_its_last_corner_is_there() -> None:
    """It is read bit by bit; who makes room for all cells needs half a terabyte."""
    found = extract(documents.xlsx(last="XFD1048576"), documents.TYPES["xlsx"], "", LIMITS)
    assert found.reason is None
    assert found.text.endswith("42")


def test_text__that_needs_a_password_says_so() -> None:
    """Rather than that it is broken."""
    found = extract(documents.opendocument("odt", encrypted=True), documents.TYPES["odt"], "", LIMITS)
    assert found.reason is Why.ENCRYPTED


def test_text__of_old_documents_has_no_extractor() -> None:
    """Which is said, and not that they are broken; nor is a picture."""
    for stream, name in (("WordDocument", "doc"), ("PowerPoint Document", "ppt")):
        found = extract(documents.ole({stream: b"x"}), "application/octet-stream", "", LIMITS)
        assert (found.format, found.reason) == (name, Why.NO_EXTRACTOR)
    assert extract(b"\x89PNG", "image/png", "", LIMITS).reason is Why.NO_EXTRACTOR


def test_text__that_is_called_something_else_is_read_as_what_it_is() -> None:
    """RTF and HTML are often served as documents of Word and Excel."""
    assert extract(documents.rtf(), "application/msword", "", LIMITS).format == "rtf"
    assert extract(documents.html(), "application/vnd.ms-excel", "", LIMITS).format == "html"


def test_text__is_cut_between_characters() -> None:
    """And says that it was."""
    found = extract("áéíóú".encode(), "text/plain", "utf-8", Limits(text_bytes=5))
    assert (found.text, found.reason) == ("áé", Why.CUT)


def test_text__that_is_too_large_is_not_read() -> None:
    """By the limit of its format."""
    large = b" " * (BY_NAME["rtf"].most + 1)
    assert extract(large, "application/rtf", "", LIMITS).reason is Why.TOO_LARGE


def test_text__that_takes_too_long_is_kept_up_to_there() -> None:
    """The clock is looked at between two pieces."""
    clock = VirtualClock()
    into = Gathering(100, 5.0, clock)
    into.add("one")
    clock.advance(6.0)
    with pytest.raises(Stopped) as stopped:
        into.add("two")
    assert (into.text(), stopped.value.reason) == ("onetwo", Why.TIME)


def test_text__can_always_be_written() -> None:
    """Half of a pair of surrogates, and NUL, are in no text."""
    into = Gathering(100, SystemClock().now() + 60)
    into.add("a\ud800b\0c\r\nd")
    assert into.text().encode() == b"a?bc\nd"


def test_library__that_is_missing_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The formats that need none are read all the same."""
    for name in ("pypdfium2", "striprtf", "striprtf.striprtf", "python_calamine"):
        monkeypatch.setitem(sys.modules, name, None)
    reasons = {name: extract(body, documents.TYPES[name], "", LIMITS).reason for name, body in documents.SOUND.items()}
    assert {name for name, reason in reasons.items() if reason is Why.NOT_INSTALLED} == {"pdf", "rtf", "xls"}
    assert not any(reason for name, reason in reasons.items() if name not in ("pdf", "rtf", "xls"))


def test_formats__have_a_limit_each_and_no_type_twice() -> None:
    """And every reason is documented."""
    types = [media for each in FORMATS for media in each.types]
    assert len(types) == len(set(types))
    assert all(each.most > 0 for each in FORMATS)
    assert set(DOCS) == set(Why)


def test_formats__are_loaded_only_when_a_text_is_made() -> None:
    """Who starts a crawl has neither the libraries nor what reads formats."""
    code = (
        "import sys, weft.config, weft.stages\n"
        "print([name for name in ('weft.text.formats', 'weft.text.mail', 'pypdfium2', 'eld', 'zipfile', "
        "'python_calamine', 'resiliparse.extract.html2text') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
