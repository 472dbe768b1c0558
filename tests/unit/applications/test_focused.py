"""What a focused crawl is about: criteria, the words that they are written in, and what follows from them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from weft.applications import Focused, criteria
from weft.applications.criteria import MET, Seen, seen_page
from weft.applications.wording import criterion_of
from weft.engine.application import Request, packed_meta, unpacked_meta
from weft.errors import UsageError
from weft.text.topic import model_in, read_model, train

PORTUGUESE = "As páginas desta biblioteca falam da história da cidade do Porto e dos seus livros mais antigos. " * 3
ENGLISH = "The pages of this library tell the history of the city of Oporto and of its oldest books. " * 3


class Fake:
    """A page as an application sees it, without a crawl around."""

    def __init__(self, url: str = "http://a.pt/", text: str = "", links: tuple[str, ...] = (), **more: Any) -> None:
        self.url, self.text, self.links = url, text, list(links)
        self.title = more.get("title", "")
        self.type = more.get("type", "text/html")
        self.language = more.get("language", "")
        self.columns: dict[str, Any] = more.get("columns", {})
        self.link_texts: dict[str, str] = more.get("link_texts", {})
        self.meta = more.get("meta")
        self.link_count = len(links)
        self.kept = True

    def discard(self) -> None:
        """Do not keep it."""
        self.kept = False


def score(about: str, page: Any, via: str = "") -> float | None:
    """How well a page meets what is written."""
    return criterion_of(about)(seen_page(page, via))


def asked(focused: Focused, page: Any) -> dict[str, Request]:
    """What a focused crawl asks for after a page."""
    return {request.url: request for request in focused.visited(page)}


@pytest.mark.parametrize(
    ("about", "matches"),
    [
        ("keyword:lisbon,porto", True),
        ("keyword:keeper", True),
        ("keyword:foot,keep", False),
        ("keyword:foot*", True),
        ('keyword:"in lisbon"', True),
        ("pattern:f..tball", True),
        ("pattern:f.tball", False),
        ("keyword:lisbon and keyword:keeper", True),
        ("keyword:lisbon and not keyword:keeper", False),
        ("keyword:rome or (keyword:lisbon and domain:pt)", True),
        ("keyword:rome or keyword:lisbon and domain:com", False),
        ("not (keyword:rome or domain:com)", True),
        ("domain:a.pt", True),
        ("domain:.pt,es", True),
        ("domain:t", False),
        ("function:tests.unit.applications.test_focused:has_goals", True),
    ],
)
def test_words__are_looked_for_in_title_and_text(about: str, matches: bool) -> None:
    """Whole words, whatever their case; joined by and, or, not and parentheses."""
    page = Fake(text="<p class=foot>a <b>Keeper</b> and two goals</p>", title="Football in Lisbon")
    assert ((score(about, page) or 0.0) >= MET) == matches


def has_goals(page: Any) -> bool:
    """A function of the user's."""
    return "goals" in page.text


@pytest.mark.parametrize(
    "about",
    ["keyword", "keyword:", "colour:red", "keyword:a or", "(keyword:a", "keyword:a)", 'keyword:"a', "a b", "not"],
)
def test_words__that_cannot_be_read_are_told(about: str) -> None:
    """With what may be written."""
    with pytest.raises(UsageError, match="NAME:VALUE"):
        criterion_of(about)


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ("", "something to look for"),
        ('pattern:"("', "linear time"),
        ('pattern:"(a)\\1"', "linear time"),
        ("model:no-such-file.json", "cannot be read"),
        ("function:no_such_module:f", "cannot be loaded"),
    ],
)
def test_focused__what_cannot_be_used_is_refused_before_a_crawl(about: str, said: str) -> None:
    """By a message for people."""
    with pytest.raises(UsageError, match=said):
        Focused(about)


def test_language__is_what_the_text_is_in_not_what_the_page_declares() -> None:
    """What the stage found counts, where it ran; what is declared only where the text is too short."""
    pytest.importorskip("eld")
    assert (score("language:pt", Fake(text=PORTUGUESE, language="en")) or 0) >= MET
    assert score("language:pt", Fake(text=ENGLISH, language="pt")) == 0.0
    assert (score("language:pt", Fake(text="ok", language="pt-BR")) or 0) >= MET
    assert score("language:pt", Fake(text="ok")) is None
    known = {"detected_language": "fr", "language_confidence": 0.8}
    assert score("language:fr", Fake(text=ENGLISH, columns=known)) == pytest.approx(0.9)


@pytest.mark.parametrize(
    "page",
    [
        Fake(text=f"<p>porto {'x8Fq/' * 40} {'Zk0=' * 50}</p>"),
        Fake(text="<p>01 10 \ufffd 11</p>", title="porto"),
        Fake(text="<p>porto</p>", columns={"misread": "long-strings no-links"}),
    ],
    ids=["long strings", "no words", "by a stage"],
)
def test_misread__pages_are_kept_from_classifiers(page: Fake) -> None:
    """Nothing is known of their content: they are neither about something nor not; by their domain they may be."""
    for about in (
        "keyword:porto",
        "not keyword:rome",
        "language:pt",
        "function:tests.unit.applications.test_focused:has_goals",
    ):
        assert score(about, page) is None
    assert score("domain:pt or keyword:porto", page) == 1.0
    focused = Focused("keyword:porto")
    assert focused.score(page) == 0.0  # type: ignore[arg-type]


def test_misread__needs_more_than_one_sign() -> None:
    """A page without links, or with words around a long string, is read as it should be; so is a script without
    blanks.
    """
    assert score("keyword:porto", Fake(text="<p>porto"))
    assert score("keyword:porto", Fake(text=f"o porto e os livros da biblioteca {'x' * 31} e mais palavras do norte"))
    assert score("keyword:図書館", Fake(text="図書館 " + "東京都立図書館は日本の公共図書館である" * 5))


def test_portugal__is_what_lies_there_or_is_in_its_language_and_linked_from_there() -> None:
    """VN's rule (P3 3.1), page by page."""
    pytest.importorskip("eld")
    about = "domain:pt or (language:pt and linked-from:pt)"
    elsewhere = Fake("http://a.com/", PORTUGUESE)
    assert (score(about, Fake("http://a.pt/", ENGLISH)), score(about, elsewhere)) == (1.0, 0.0)
    assert (score(about, elsewhere, via="http://b.pt/") or 0) >= MET
    assert score(about, elsewhere, via="http://b.com/") == 0.0
    assert score(about, Fake("http://a.com/", ENGLISH), via="http://b.pt/") == 0.0


def test_links__that_cannot_lead_to_it_are_not_followed() -> None:
    """A page elsewhere, though it is in Portuguese, does not bring in what only it links to; and meta says who did."""
    pytest.importorskip("eld")
    focused = Focused("domain:pt or (language:pt and linked-from:pt)")
    links = ("http://b.pt/", "http://c.com/")
    here = asked(focused, Fake("http://a.pt/", PORTUGUESE, links))
    assert set(here) == set(links)
    meta = unpacked_meta(packed_meta(here["http://c.com/"].meta))
    there: Any = Fake("http://c.com/", PORTUGUESE, ("http://d.com/", "http://e.pt/"), meta=meta)
    assert set(asked(focused, there)) == {"http://e.pt/"}
    assert there.kept


def test_through__pages_in_a_row_that_are_not_about_it_are_passed() -> None:
    """So many, and no more; they are not kept, unless all are."""
    focused = Focused("keyword:porto", through=1)
    first: Any = Fake(text="lisboa", links=("http://b.pt/",))
    (request,) = asked(focused, first).values()
    assert not first.kept
    second: Any = Fake(text="lisboa", links=("http://c.pt/",), meta=request.meta)
    assert asked(focused, second) == {}
    third: Any = Fake(text="porto", links=("http://c.pt/",), meta=request.meta)
    assert set(asked(focused, third)) == {"http://c.pt/"}
    assert (third.kept, asked(focused, third)["http://c.pt/"].meta) == (True, None)
    every: Any = Fake(text="lisboa")
    asked(Focused("keyword:porto", keep="all"), every)
    assert every.kept


def test_priority__is_that_of_the_page_and_of_what_the_link_says() -> None:
    """Both in equal parts; URLs write words together; no link comes before a seed."""
    focused = Focused("keyword:porto", through=2)
    links = ("http://a.pt/1", "http://a.pt/2", "http://a.pt/portowine", "http://porto.pt/4")
    texts = {"http://a.pt/2": "Porto and more", "http://porto.pt/4": "Porto"}
    good = asked(focused, Fake(text="porto porto", links=links, link_texts=texts))
    poor = asked(focused, Fake(text="lisboa", links=links, link_texts=texts))
    for found in (good, poor):
        by_link = [found[link].priority for link in links]
        assert by_link[0] < by_link[1] == by_link[2] < by_link[3] < 0
    assert all(good[link].priority > poor[link].priority for link in links)


def _says(said: Any, _page: Any) -> Any:
    return said


def test_function__must_say_what_can_be_understood() -> None:
    """A number from 0 to 1, or whether, or that it cannot tell."""
    seen = Seen("http://a.pt/", words="", page=Fake())  # type: ignore[arg-type]
    assert [criteria.function(partial(_says, said))(seen) for said in (True, 0.25, None)] == [1.0, 0.25, None]
    with pytest.raises(ValueError, match="not between 0 and 1"):
        criteria.function(lambda _page: 3)(seen)


def test_model__tells_topics_apart_and_is_read_back(tmp_path: Path) -> None:
    """It is a file of words and numbers; what is not is refused, and nothing in it is run."""
    cars = [(f"{word} car engine wheel {number}", True) for number, word in enumerate(["old", "new", "red"] * 5)]
    food = [(f"{word} soup bread butter {number}", False) for number, word in enumerate(["old", "new", "hot"] * 20)]
    model = train([*cars, *food], "cars")
    path = tmp_path / "cars.json"
    path.write_bytes(model.encoded())
    assert read_model(path) == model
    assert score(f"model:{path}", Fake(text="<p>a car with a new engine</p>")) > 0.8  # type: ignore[operator]
    assert score(f"model:{path}", Fake(text="<p>hot soup with butter</p>")) < 0.2  # type: ignore[operator]
    assert set(model.telling(3)) == {"car", "engine", "wheel"}
    for data in (b"\x80\x04.", b"{}", model.encoded().replace(b"weft topic model", b"other"), b'{"topic":"x"}'):
        with pytest.raises(UsageError):
            model_in(data, "file")
