"""Seeds as they are spelled, judged and counted, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given as given_by
from hypothesis import strategies as st

from weft.app import usable_seeds
from weft.clock import VirtualClock
from weft.config import Settings
from weft.errors import UsageError
from weft.fetch.dns import Answer
from weft.model import Reason
from weft.seeding.asking import Asking
from weft.seeding.checking import Checked, check_seeds, common_form, judged, reached, report_of, spelled
from weft.seeding.given import Given, given
from weft.urls import normal_form

NAMES = st.sampled_from(
    ["example.org", "www.example.org", "a.example.org", "EXAMPLE.org.", "127.0.0.1", "bücher.example"]
)
WRITTEN = st.one_of(
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["", "http://", "https://", "HTTP://", "ftp://"]),
        NAMES,
        st.sampled_from(["", ":80", ":443", ":8080"]),
        st.sampled_from(["", "/", "/a", "/a/../b", "/%7ea", "/#x", "?q=1", "/A?q=%41"]),
    ),
    st.text(max_size=20),
)


def as_given(texts: list[str]) -> list[Given]:
    """Texts as a file gives them: without what says nothing."""
    return [Given(f"line {number}", text.strip()) for number, text in enumerate(texts, 1) if _says(text)]


def _says(text: str) -> bool:
    return bool(text.strip()) and not text.strip().startswith("#")


@given_by(st.lists(WRITTEN, max_size=30))
def test_spelled__keeps_each_normal_form_once(texts: list[str]) -> None:
    """The first of several spellings is kept, in the order in which they came; every other names it."""
    found = spelled(as_given(texts))
    urls = [each.url for each in found if each.verdict == "usable"]
    assert urls == list(dict.fromkeys(each.url for each in found if each.url is not None))
    assert all(normal_form(url) == url for url in urls if url is not None)
    first = {each.url: each.where for each in found if each.verdict == "usable"}
    assert all(each.same_as == first[each.url] for each in found if each.verdict == "duplicate")


@given_by(st.lists(WRITTEN, max_size=30))
def test_spelled__finds_usable_what_a_crawl_uses(texts: list[str]) -> None:
    """Both read seeds by the same rules."""
    found = report_of(spelled(as_given(texts))).usable()
    try:
        assert found == usable_seeds(texts, where="here", credentials={})[0]
    except UsageError:
        assert found == []


@given_by(st.lists(WRITTEN, max_size=30))
def test_spelled__leaves_one_of_twins_if_asked(texts: list[str]) -> None:
    """No two that are left differ by www. and scheme alone, and nothing is lost that has no twin."""
    whole = report_of(spelled(as_given(texts))).usable()
    left = report_of(spelled(as_given(texts), drop_twins=True)).usable()
    forms = [common_form(url) for url in left]
    assert len(forms) == len(set(forms))
    assert set(forms) == {common_form(url) for url in whole}
    assert set(left) <= set(whole)


@given_by(st.sampled_from(["http", "https"]), st.booleans(), st.sampled_from(["example.org", "a.b.example.org:8080"]))
def test_common_form__is_the_same_for_all_twins(scheme: str, www: bool, site: str) -> None:
    """Whatever the scheme, with www. or without."""
    url = f"{scheme}://{'www.' if www else ''}{site}/a?b=www.c"
    assert common_form(url) == (site, "/a?b=www.c")
    assert common_form(url) != common_form(f"{scheme}://{site}/A?b=www.c")


def test_spelled__shows_no_password() -> None:
    """A seed may carry one; what is told of it does not."""
    (seed,) = spelled([Given("here", "http://me:secret@example.org/")])
    assert seed.url == "http://example.org/"
    assert seed.secret
    assert "secret" not in repr(seed).replace("secret=True", "")


def test_judged__says_which_rule_refuses() -> None:
    """The rules are those of the crawl's settings."""
    settings = Settings().with_values({"exclude": ["/private/"], "max_url": 40}, where="a test")
    texts = ["http://a.test/", "http://a.test/private/x", "http://a.test:25/", f"http://a.test/{'x' * 40}"]
    found = judged(spelled(Given("here", text) for text in texts), settings)
    assert [each.reason for each in found] == [None, "excluded", "port", "url-length"]
    assert report_of(found).verdicts == {"usable": 1, "unusable": 3}


def test_reached__says_what_the_gate_would() -> None:
    """A name without an address, one with a private one, one with both; and a literal, which allows its own range."""
    answers = {
        "gone.test": Answer((), Reason.DNS_NOT_FOUND, 0.0, unregistered=True),
        "inside.test": Answer(("10.0.0.1",), None, 0.0),
        "both.test": Answer(("10.0.0.1", "93.184.216.34"), None, 0.0),
    }
    texts = [*answers, "http://127.0.0.1/"]
    found = reached(spelled(Given("here", text) for text in texts), answers, Settings())
    assert [each.reason for each in found] == ["dns-not-found", "dns-special", None, None]
    assert found[0].because == "There is no such name."


def test_report__counts_duplicates_as_no_fault() -> None:
    """What was given twice is used once, and that is all."""
    settings = Settings()
    found = check_seeds([Given("a", "127.0.0.1"), Given("b", "http://127.0.0.1/")], settings, Asking(), VirtualClock())
    assert found.ok
    assert found.verdicts == {"usable": 1, "duplicate": 1}
    assert not report_of([Checked(where="a", written="x", verdict="unusable", reason="port")]).ok


def test_given__reads_files_and_urls(tmp_path: Path) -> None:
    """Each line has its place; a comment is none, and a byte order mark nothing."""
    path = tmp_path / "seeds"
    path.write_bytes(b"\xef\xbb\xbfexample.org\r\n# no\r\n\r\n b.example \n")
    found = list(given([str(path), "http://c.example/"]))
    assert found == [
        (f"{path}, line 1", "example.org"),
        (f"{path}, line 4", "b.example"),
        ("the command line", "http://c.example/"),
    ]


@pytest.mark.parametrize("name", ["seeds.txt", "./list", "a.csv.gz", "/no/such"])
def test_given__takes_no_missing_file_for_a_host(name: str) -> None:
    """A mistyped file name is misuse, not a name that does not exist."""
    with pytest.raises(UsageError, match="no such file"):
        list(given([name]))
