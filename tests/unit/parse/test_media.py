"""What a content is, by what the server says and by its first bytes; and whether we want it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.parse.media import Wanted, detect_type, plain_type

HTML = b"<!DOCTYPE html><html><title>x</title>"


@pytest.mark.parametrize(
    ("declared", "plain"),
    [
        ("text/html", "text/html"),
        (" Text/HTML ;charset=utf-8", "text/html"),
        ("text/html, text/html; charset=x", "text/html"),
        ("text/html charset=utf-8", "text/html"),
        ("text/html\tx", "text/html"),
        ("html", ""),
        ("", ""),
        (";", ""),
    ],
)
def test_plain_type__is_the_type_alone(declared: str, plain: str) -> None:
    """Without parameters, repetitions and blanks, in lower case; what has no slash is none."""
    assert plain_type(declared) == plain


@pytest.mark.parametrize(
    ("declared", "body", "expected"),
    [
        ("text/html", b"%PDF-1.4", "application/pdf"),
        ("image/png", HTML, "text/html"),
        ("Text/HTML; charset=x", b"", "text/html"),
        ("", HTML, "text/html"),
        ("html", HTML, "text/html"),
        ("application/octet-stream", b"\n <HTML>", "text/html"),
        ("text/plain", b"\xef\xbb\xbf<!-- x --><html>", "text/html"),
        ("text/plain", b"<!-- a comment in a text file -->", "text/plain"),
        ("text/plain", b"if a < b", "text/plain"),
        ("text/plain", HTML.decode().encode("utf-16"), "text/html"),
        ("", "words".encode("utf-16"), "text/plain"),
        ("", b"%PDF-1.4", "application/pdf"),
        ("", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("text/plain", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("", b"GIF89a", "image/gif"),
        ("", b"PK\x03\x04", "application/zip"),
        ("", b"\x1f\x8b\x08\x00", "application/gzip"),
        ("", b"\x00\x01\x02", ""),
        ("text/plain", b"\x00\x01\x02", "text/plain"),
        ("", b"", ""),
        ("text/plain", b"", "text/plain"),
        ("text/xml", b"<?xml version='1.0'?><rss>", "application/rss+xml"),
        ("application/xml", b"<feed xmlns='x'>", "application/atom+xml"),
        ("application/xml", b"<?xml version='1.0'?><rdf:RDF>", "application/rdf+xml"),
        ("text/xml", b"<?xml version='1.0'?><html xmlns='x'>", "application/xhtml+xml"),
        ("text/xml", b"<urlset>", "text/xml"),
        ("", b"<?xml version='1.0'?><rss>", "application/rss+xml"),
        ("", "<?xml version='1.0'?><rss>".encode("utf-16"), "application/rss+xml"),
        ("", b"<?xml version='1.0'?><other>", "text/xml"),
        ("application/rss+xml", HTML, "text/html"),
    ],
)
def test_type__is_declared_or_seen(declared: str, body: bytes, expected: str) -> None:
    """A specific declaration is believed; a vague one, a missing one and plain XML are settled by looking."""
    assert detect_type(declared, body) == expected


@pytest.mark.parametrize(
    ("declared", "wanted"),
    [
        ("text/html", True),
        ("text/css", True),
        ("application/xhtml+xml", True),
        ("application/xml", True),
        ("image/svg+xml", True),
        ("application/rss+xml", True),
        ("application/feed+json", True),
        ("", True),
        ("html", True),
        ("application/octet-stream", True),
        ("text/html, text/html", True),
        ("image/png", False),
        ("application/pdf", False),
        ("application/json", False),
        ("video/mp4", False),
    ],
)
def test_wanted__are_pages(declared: str, wanted: bool) -> None:
    """Text, HTML, XML and feeds, and what may turn out to be one."""
    assert Wanted().type(declared) is wanted


def test_wanted__more_types_can_be_named() -> None:
    """By name or by family."""
    assert Wanted(("application/pdf",)).type("application/pdf")
    assert Wanted(("Image/*",)).type("image/webp")
    assert not Wanted(("image/*",)).type("video/mp4")


@pytest.mark.parametrize(
    ("types", "url", "wanted"),
    [
        ((), "http://a/", True),
        ((), "http://a/b.html", True),
        ((), "http://a/b.php?x=y.zip", True),
        ((), "http://a/b.zip", False),
        ((), "http://a/b.JPG?x", False),
        (("application/pdf",), "http://a/b.pdf", True),
        (("application/pdf",), "http://a/b.jpg", False),
        (("image/*",), "http://a/b.jpg", True),
        (("image/*",), "http://a/b.psd", True),
    ],
)
def test_wanted__links_are_judged_by_their_file_name(types: tuple[str, ...], url: str, wanted: bool) -> None:
    """A name that says an unwanted type is not asked for; where more types are wanted, an unknown name may be one."""
    assert Wanted(types).link(url) is wanted


@pytest.mark.parametrize("everything", ["*/*", "*", "all", "ALL"])
def test_wanted__everything_can_be_asked_for(everything: str) -> None:
    """Whatever the answer says it is, and whatever the file is called."""
    wanted = Wanted((everything,))
    assert all(wanted.type(each) for each in ("video/mp4", "application/x-own", "text/html", ""))
    assert all(wanted.link(f"http://a/b.{name}") for name in ("pdf", "zip", "7z", "html"))


@pytest.mark.parametrize(
    ("name", "declared", "url"),
    [
        ("pdf", "application/pdf", "http://a/b.pdf"),
        (".PDF", "application/pdf", "http://a/b.PDF?x"),
        ("gz", "application/x-gzip", "http://a/b.tar.gz"),
        ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "http://a/b.docx"),
        ("7z", "application/x-7z-compressed", "http://a/b.7z"),
    ],
)
def test_wanted__a_short_name_means_its_types(name: str, declared: str, url: str) -> None:
    """Both rules follow it: that of the answer's type and that of the file's name."""
    assert Wanted((name,)).type(declared)
    assert Wanted((name,)).link(url)
    assert not Wanted((name,)).link("http://a/b.mp4")


@pytest.mark.parametrize("text", ["pfd", "", "image/", "/pdf", "image png", "*/pdf", "**", "application/pdf;q=1"])
def test_wanted__what_can_be_no_media_type_is_refused(text: str) -> None:
    """With what could have been meant."""
    with pytest.raises(UsageError) as caught:
        Wanted((text,))
    assert repr(text) in str(caught.value)
    assert "application/pdf" in str(caught.value)


@given(st.text(max_size=40), st.binary(max_size=100))
def test_detect_type__is_one_word(declared: str, body: bytes) -> None:
    """Any header and any bytes give a type that can stand in a column and a line of the log."""
    found = detect_type(declared, body)
    assert not any(sign.isspace() for sign in found)
    assert Wanted().type(declared) in (True, False)
