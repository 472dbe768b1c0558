"""Whatever comes from outside is read in linear time and within bounds. Work is counted, or compared with a loop in
Python, with a margin of ten and more: without the bounds each of these takes seconds or for ever.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
from tests.costs import check_costs
from tests.hostile.answers import filled

from weft.model import Kind, Page, Parsed, Reason
from weft.parse.decode import decode_content
from weft.parse.options import Reading
from weft.parse.page import LARGE, Parser
from weft.parse.robots import parse_robots
from weft.parse.sitemap import parse_sitemap
from weft.parse.tags import LargePage

EMPTY = gzip.compress(b"")


def page(body: bytes, kind: str = "text/html", coding: str = "") -> Page:
    """A page as it came."""
    headers = {"content-type": kind} | ({"content-encoding": coding} if coding else {})
    return Page("http://a.example/", 200, None, b"", b"", headers, body, "", "", "", 0, 0, 0, closed=False)


def read_here(body: bytes, kind: int = Kind.A, declared: str = "text/html", coding: str = "") -> Parsed:
    """Read as the event loop does."""
    return Parser(Reading(), "weft", largest=LARGE).parse(page(body, declared, coding), kind)


# --- decoding ---


def test_gzip__of_a_million_empty_members_is_given_up_soon() -> None:
    """Nothing is copied for each of them, and there is an end to their number."""
    body = EMPTY * 1_000_000
    assert decode_content(body, "gzip", 20_000_000) == (b"", Reason.ENCODING)
    check_costs(lambda: decode_content(body, "gzip", 20_000_000), steps=30_000_000)


@pytest.mark.parametrize("size", [1, 100, 16_383, 16_384, 16_385, 70_000])
def test_gzip__of_several_members_is_decoded_whatever_their_size(size: int) -> None:
    """They may end anywhere in what is given to the decoder at once."""
    parts = [bytes([number]) * size for number in range(40)]
    assert decode_content(b"".join(map(gzip.compress, parts)), "gzip", 10_000_000) == (b"".join(parts), None)
    noise = b"".join(gzip.compress(part, 0) for part in parts)
    assert decode_content(noise + b"rubbish", "gzip", 10_000_000) == (b"".join(parts), None)


# --- what is read in the event loop ---


@pytest.mark.parametrize(
    ("body", "kind", "declared"),
    [
        (bytes(1_100_000), Kind.A, "text/html"),
        (filled(b"<a href=b>", 100_000), Kind.A, "text/html"),
        (b"<title>" + filled(b"&lt;", 100_000), Kind.A, "text/html"),
        (filled(b"<rss><item/>", 60_000), Kind.A, "application/rss+xml"),
        (filled(b"url(b)", 60_000), Kind.STYLE, "text/css"),
        (filled(b"<a/>", 60_000), Kind.MAP, "text/xml"),
        (gzip.compress(filled(b"<a/>", 60_000), mtime=0), Kind.MAP, "application/gzip"),
    ],
)
def test_large_content__is_read_apart_whatever_it_is(body: bytes, kind: int, declared: str) -> None:
    """By its decoded size, or by what is in it; also where it comes compressed."""
    with pytest.raises(LargePage):
        read_here(body, kind, declared)
    with pytest.raises(LargePage):
        read_here(gzip.compress(body), kind, declared, "gzip")
    assert Parser(Reading(), "weft").parse(page(body, declared), kind).type


def test_coding__in_a_coding_is_undone_apart() -> None:
    """Its sizes do not tell how long it takes."""
    with pytest.raises(LargePage):
        read_here(gzip.compress(gzip.compress(b"x")), coding="gzip, gzip")


def test_ordinary_pages__are_read_here() -> None:
    """However large they are, if there is nothing in them that takes long."""
    links = b"".join(b"<p>Some words.</p><a href=/%d>more</a>" % number for number in range(2_000))
    assert len(read_here(links + bytes(900_000)).links) == 2_000


# --- limits of what is taken ---


def test_page__with_too_many_links_has_the_first_of_them() -> None:
    """The others are counted."""
    body = b"".join(b"<a href=/%d>x</a><a rel=nofollow href=/n%d>y</a>" % (each, each) for each in range(10))
    parsed = Parser(Reading(max_links=4, link_text=True), "weft").parse(page(body), Kind.A)
    assert [written for written, _ in parsed.links] == ["/0", "/1", "/2", "/3"]
    assert [written for written, _ in parsed.nofollow] == ["/n0", "/n1", "/n2", "/n3"]
    assert [said for said, _ in parsed.labels] == ["x"] * 4 + ["y"] * 4
    assert parsed.left_out == 12


def test_page__with_too_much_text_in_its_links_has_the_first_of_them() -> None:
    """All links are written down; so there is an end to what they take together."""
    body = b"".join(b"<a href=/%d/%s>x</a>" % (each, b"a" * 1000) for each in range(5_000))
    parsed = Parser(Reading(link_text=True), "weft").parse(page(body), Kind.A)
    assert sum(len(written) for written, _ in parsed.links) <= 4_000_000
    assert len(parsed.links) > 3_900
    assert len(parsed.links) + parsed.left_out == 5_000
    assert len(parsed.labels) == len(parsed.links)


@pytest.mark.parametrize("form", ["xml", "text", "json"])
def test_list__keeps_as_many_as_it_may(form: str) -> None:
    """And counts the rest."""
    urls = [f"http://a/{number}" for number in range(30)]
    body = {
        "xml": "<urlset>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>",
        "text": "\n".join(urls),
        "json": '{"items": [' + ", ".join(f'{{"url": "{url}"}}' for url in urls) + "]}",
    }[form]
    assert parse_sitemap(body.encode(), most=12) == (urls[:12], [], 18, True)


@pytest.mark.parametrize(
    "body",
    [
        filled(b"<a>", 20_000_000),
        b"<urlset><url><loc>http://a/1</loc></url>" + filled(b"<a/>", 20_000_000),
        b"\n" * 20_000_000,
        b"<loc>" + b"\n" * 20_000_000,
    ],
    ids=["nested", "many", "lines", "text"],
)
def test_list__without_end_is_read_within_bounds(body: bytes) -> None:
    """Elements inside each other, elements without end, nothing but lines: each took ten seconds and a gigabyte."""
    check_costs(lambda: parse_sitemap(body), steps=150_000_000)


def test_list__that_is_not_read_to_its_end_is_hostile() -> None:
    """What was found until then is kept."""
    body = b"<urlset><url><loc>http://a/1</loc></url>" + b"<a>" * 1000
    parsed = read_here(body, Kind.MAP, "text/xml")
    assert parsed.reason is Reason.HOSTILE
    assert parsed.links == [("http://a/1", Kind.SITEMAP)]


def test_sitemap__that_expands_too_far_is_read_as_far_as_it_may() -> None:
    """Its row says so."""
    urls = b"".join(b"http://a.example/%07d/%s\n" % (number, b"x" * 80) for number in range(600_000))
    packed = gzip.compress(urls, 1)
    assert len(urls) > 52_428_800
    parsed = Parser(Reading(), "weft").parse(page(packed, "text/plain"), Kind.MAP)
    assert parsed.reason is Reason.EXPANSION
    assert len(parsed.links) > 30_000


# --- robots.txt ---


def robots(line: Callable[[int], bytes]) -> bytes:
    """500 KiB of rules."""
    lines = [b"User-agent: *"]
    while sum(map(len, lines[-1:])) and len(lines) * len(lines[-1]) < 500 * 1024:
        lines.append(line(len(lines)))
    return b"\n".join(lines)[: 500 * 1024]


@pytest.mark.parametrize(
    "line",
    [
        lambda n: b"Disallow: /*a*a%d$" % n,
        lambda n: b"Disallow: /*aaaaaaaab%x" % n,
        lambda _: b"Disallow: /" + b"*a" * 8000,
        lambda n: b"Disallow: /*" + b"a" * 480 + b"b%d" % n + b"a" * 480,
        lambda n: b"Disallow: /" + b"a" * (n % 1000) + b"b",
        lambda n: b"Allow: /%x/index.html" % n,
    ],
    ids=["tails", "short", "stars", "periods", "nested", "folders"],
)
def test_robots__of_any_shape_are_matched_with_little_work(line: Callable[[int], bytes]) -> None:
    """Whatever they say. Some of these took a tenth of a second for one URL."""
    file = parse_robots(robots(line) + b"\nDisallow: /x", "weft")
    paths = [f"/{letter * 1990}" for letter in ("a", "ab", "a/")]
    for path in paths:
        check_costs(lambda path=path: file.allows(path[:2000]), steps=300_000)  # type: ignore[misc]


def test_robots__that_cannot_be_tried_within_bounds_disallow() -> None:
    """Who writes ten thousand patterns, or such that take for ever, is not crawled."""
    many = b"User-agent: *\n" + b"".join(b"Disallow: /*%d$\n" % number for number in range(10_001))
    assert not parse_robots(many, "weft").allows("/")
    slow = b"User-agent: *\n" + b"".join(
        b"Disallow: /*" + b"a" * 480 + b"b" + b"a" * size + b"\n" for size in (480, 481)
    )
    verdict = parse_robots(slow, "weft").verdict("/" + "a" * 1500 + "ba")
    assert not verdict.allowed
    assert "too long" in str(verdict.rule)
    assert parse_robots(slow, "weft").allows("/b")


@pytest.mark.parametrize("filler", [0, 200])
def test_robots__mean_the_same_tried_together(filler: int) -> None:
    """Patterns with wildcards are tried one by one where there are few, and together in compiled code else."""
    rules = [
        "Disallow: /*.php$",
        "Allow: /a*b*c",
        "Disallow: /a",
        "Disallow: /q?*=",
        "Allow: /*x/$",
        "Disallow: /*aa*aa$",
    ]
    rules += [f"Disallow: /nothing/{number}/*/like/this$" for number in range(filler)]
    file = parse_robots(("User-agent: *\n" + "\n".join(rules)).encode(), "weft")
    paths = ["/x.php", "/x.php5", "/abc", "/axbxc", "/ac", "/q?a=b", "/q?", "/x/", "/aaa", "/zaaa", "/zaaaa", "/naaéaa"]
    no = {"/x.php", "/ac", "/q?a=b", "/aaa", "/zaaaa", "/naaéaa"}
    assert {path for path in paths if not file.allows(path)} == no


def test_robots__a_pattern_is_as_long_as_it_is_written() -> None:
    """Stars at its end count, though they say nothing."""
    file = parse_robots(b"User-agent: *\nAllow: /ab\nDisallow: /a***", "weft")
    assert not file.allows("/abc")
