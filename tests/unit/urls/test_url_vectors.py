"""Other people's test data, run through our rules.

Several canonical forms exist, and each set follows the choices of its makers. Where ours differ, the
difference is listed here with its reason and our own result, so that a change on either side shows.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from weft.urls import Unusable, UrlRules, normal_form, registrable, site_of, split

Shared = Callable[[str], Path]


def table(path: Path) -> Iterator[list[str]]:
    """The rows of a CSV file without comments and empty lines."""
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    rows = csv.reader((line for line in lines if not line.startswith("#")), skipinitialspace=True)
    return ([cell.strip() for cell in row] for row in rows)


# The query is data: its order, its empty parts and its bare question mark are the server's business.
WEIRD_QUERIES = {
    "http://example.com?": "http://example.com/?",
    "http://example.com/?": "http://example.com/?",
    "http://example.com/?b=1&a=1": "http://example.com/?b=1&a=1",
    "http://foo.com/foo.html?b=1&a=1": "http://foo.com/foo.html?b=1&a=1",
    "http://foo.com/index?b=2&a=1": "http://foo.com/index?b=2&a=1",
    "http://foo.com/index?b=2&a=1#c": "http://foo.com/index?b=2&a=1",
    "http://foo.com/index?a=1&b=": "http://foo.com/index?a=1&b=",
    "http://foo.com/index?b&a=1": "http://foo.com/index?b&a=1",
    "http://foo.com/index?b=&a=1": "http://foo.com/index?b=&a=1",
    "http://foo.com/index?b=1&a=1&": "http://foo.com/index?b=1&a=1&",
    "http://foo.com/index?&b=1&a=1": "http://foo.com/index?&b=1&a=1",
    "http://foo.com/index?&=1&a=1": "http://foo.com/index?&=1&a=1",
    "http://foo.com/index?=1&b=1&a=1": "http://foo.com/index?=1&b=1&a=1",
}
# Browsers send these characters as they are; a stray percent sign too.
WEIRD_CHARACTERS = {
    "http://x.com/?x[y]=1": "http://x.com/?x[y]=1",
    "http://www.example.com/a/c/../b/search?q=foobar^": "http://www.example.com/a/b/search?q=foobar^",
    "http://www.example.com/a/c/../b/search?q=foobar`": "http://www.example.com/a/b/search?q=foobar`",
    "http://www.example.com/a/c/../b/search?q=foobar|": "http://www.example.com/a/b/search?q=foobar|",
    "http://www.example.com/a/c/../b/search?q=foobar%": "http://www.example.com/a/b/search?q=foobar%",
    "http://www.example.com/search?q=foobar%": "http://www.example.com/search?q=foobar%",
    "http://www.example.com/search?q=foobar%2": "http://www.example.com/search?q=foobar%2",
    "http://www.example.com/p%zz%77%v": "http://www.example.com/p%zzw%v",
    "https://www.last.fm/music/Prefuse+73/_/90%+of+My+Mind+Is+With+You": (
        "https://www.last.fm/music/Prefuse+73/_/90%+of+My+Mind+Is+With+You"
    ),
}
# An empty path segment is a segment: two paths that differ in it are two paths.
WEIRD_SLASHES = {
    url: url
    for url in [
        "http://foo.com//aa/bb/foo.html",
        "http://foo.com/aa//bb/foo.html",
        "http://foo.com/aa/bb//foo.html",
        "http://foo.com//aa//bb//foo.html",
        "http://foo.com////aa////bb//foo.html",
        "http://foo.com////aa////bb////foo.html",
    ]
}
# No crawler of the web can visit these.
WEIRD_REFUSALS = {
    "file:///foo/bar.txt": Unusable.SCHEME,
    "ftp:/": Unusable.SCHEME,
    "ftp://foo.com/index.html": Unusable.SCHEME,
    "file:/path/index.html": Unusable.SCHEME,
    "file:/var/www/html/////./bar/index.html": Unusable.SCHEME,
    "file:/var/www/html/foo/../bar/index.html": Unusable.SCHEME,
    "http:////": Unusable.HOST,
    "http:///////": Unusable.HOST,
    "foo.com/index.html": Unusable.NO_SCHEME,  # in a page this is a relative link
}
WEIRD = WEIRD_QUERIES | WEIRD_CHARACTERS | WEIRD_SLASHES | WEIRD_REFUSALS


def test_crawler_commons__weird_urls(shared: Shared) -> None:
    """All 112 pairs come out as expected there or as listed here."""
    rows = list(table(shared("url-crawlercommons/weirdToNormalizedUrls.csv")))
    assert len(rows) == 112
    assert WEIRD.keys() <= {text for text, _ in rows}
    for text, expected in rows:
        assert normal_form(text) == WEIRD.get(text, expected), text
        assert WEIRD.get(text) != expected, f"{text} is no difference any more"


def test_crawler_commons__resolving(shared: Shared) -> None:
    """Relative references resolve as expected, once our rules have gone over the expectation too."""
    rows = [row for row in table(shared("url-crawlercommons/url-resolve.csv")) if len(row) == 3]
    assert len(rows) == 22
    for text, base, expected in rows:
        assert normal_form(text, base or None) == normal_form(expected), text


def test_crawler_commons__invalid_urls(shared: Shared) -> None:
    """Impossible host names are refused."""
    rows = [row[0] for row in table(shared("url-crawlercommons/invalidUrls.csv"))]
    assert len(rows) == 2
    for text in rows:
        assert normal_form(text) is Unusable.HOST


def test_wpt__host_to_ascii(shared: Shared) -> None:
    """International host names become what browsers make of them, or are refused where browsers refuse.

    Browsers leave names that are too long, or have an empty label, to the DNS; we refuse them before it is asked.
    """
    too_long = 0
    entries = [e for e in json.loads(shared("url-misc/wpt-toascii.json").read_text()) if isinstance(e, dict)]
    assert len(entries) > 80
    for entry in entries:
        url = normal_form(f"https://{entry['input']}/x")
        expected = entry["output"]
        if expected is None:
            assert url is Unusable.HOST, entry
        elif len(expected) > 253 or not all(0 < len(label) < 64 for label in expected.split(".")):
            assert url is Unusable.HOST, entry
            too_long += 1
        else:
            assert site_of(url) == expected, entry
    assert too_long == 9


def test_urlcanon__funky_ipv4(shared: Shared) -> None:
    """Numbers in all their spellings become one dotted address, and impossible ones are refused."""
    vectors = json.loads(shared("url-urlcanon/funky_ipv4.json").read_text())
    assert len(vectors) == 47
    for text, expected in vectors.items():
        url = normal_form(f"http://{text}/")
        if text == "0000xa":
            assert url == "http://0000xa/"  # no number at all: an odd name, and names are left to the DNS
        elif expected is None:
            assert url is Unusable.HOST, text
        else:
            assert split(url).host == expected, text


def test_urlcanon__dot_segments(shared: Shared) -> None:
    """Dot segments resolve as in browsers, for which a backslash is a slash."""
    vectors = json.loads(shared("url-urlcanon/path_dots.json").read_text())["special"]
    assert len(vectors) == 376
    for text, expected in vectors.items():
        if "\\" in text:  # their function takes a path alone, before the parser has turned backslashes round
            assert normal_form("http://h" + text) == normal_form("http://h" + text.replace("\\", "/")), text
        else:
            assert normal_form("http://h" + text) == "http://h" + expected, text


# Their form decodes reserved characters and doubly encoded ones too, which can change what a URL means; sorts
# queries; folds slashes and dots at the end of a host; encodes stray percent signs; and takes names that no
# resolver would.
PRECISE = {
    "%20leadingspace.com/": Unusable.NO_SCHEME,
    "www.google.com": Unusable.NO_SCHEME,
    "www.google.com/": Unusable.NO_SCHEME,
    "http:%/": Unusable.HOST,
    "http:/%/": Unusable.HOST,
    "http://%/": Unusable.HOST,
    "http:// leadingspace.com/": Unusable.HOST,
    "http://%20leadingspace.com/": Unusable.HOST,
    "http://09/": Unusable.HOST,
    "http://\u0001\u0080.com/": Unusable.HOST,
    "http://host%23.com/%257Ea%2521b%2540c%2523d%2524e%25f%255E00%252611%252A22%252833%252944_55%252B": (Unusable.HOST),
    "http:%2e%2e%2e/a/b": Unusable.HOST,
    "http:%2e%2e/a/b": Unusable.HOST,
    "http:%2e/a/b": Unusable.HOST,
    "http:/%2e%2e%2e/a/b": Unusable.HOST,
    "http:/%2e%2e/a/b": Unusable.HOST,
    "http:/%2e/a/b": Unusable.HOST,
    "http://%2e%2e%2e/a/b": Unusable.HOST,
    "http://%2e%2e/a/b": Unusable.HOST,
    "http://%2e/a/b": Unusable.HOST,
    "http:///%2e%2e%2e/a/b": Unusable.HOST,
    "http:///%2e%2e/a/b": Unusable.HOST,
    "http:///%2e/a/b": Unusable.HOST,
    "http://www.google.com.../": Unusable.HOST,
    "http://example.com/%3A%3a%3C%3c": "http://example.com/%3A%3A%3C%3C",
    "http://example.com/%7Ffp3%3Eju%3Dduvgw%3Dd": "http://example.com/%7Ffp3%3Eju%3Dduvgw%3Dd",
    "http://example.com/(%28:%3A%29)": "http://example.com/(%28:%3A%29)",
    "http://example.com/@asdf%40": "http://example.com/@asdf%40",
    "http://facebook.com/?foo=%7B%22abc%22": "http://facebook.com/?foo=%7B%22abc%22",
    "http://example.com/?%26=%26&%26": "http://example.com/?%26=%26&%26",
    "http://example.com/?%3d=%3d&%3d": "http://example.com/?%3D=%3D&%3D",
    "http://example.com/?c=d&a=b": "http://example.com/?c=d&a=b",
    "http://example.com////../..": "http://example.com//",
    "http://example.com\\\\foo\\\\bar": "http://example.com//foo//bar",
    "http://host.com//twoslashes?more//slashes": "http://host.com//twoslashes?more//slashes",
    "http://example.com/foo%": "http://example.com/foo%",
    "http://example.com/foo%2": "http://example.com/foo%2",
    "http://example.com/foo%2\u00c2\u00a9zbar": "http://example.com/foo%2%C2%A9zbar",
    "http://example.com/foo%2zbar": "http://example.com/foo%2zbar",
    "http://example.com/foo/%2e%2": "http://example.com/foo/.%2",
    "http://host/%%%25%32%35asd%%": "http://host/%%%25%32%35asd%%",
    "http://host/%%300": "http://host/%%300",
    "http://host/%%36%31": "http://host/%%36%31",
    "http://host/%25%2536%2531": "http://host/%25%2536%2531",
    "http://host/%25%25361": "http://host/%25%25361",
    "http://host/%25%32%35": "http://host/%2525",
    "http://host/%25%32%35%25%32%35": "http://host/%2525%2525",
    "http://host/%2525252525252525": "http://host/%2525252525252525",
    "http://host/%2561": "http://host/%2561",
    "http://host/?%%300": "http://host/?%%300",
    "http://host/?%%36%31": "http://host/?%%36%31",
    "http://host/?%25%2536%2531": "http://host/?%25%2536%2531",
    "http://host/?%25%25361": "http://host/?%25%25361",
    "http://host/?%2561": "http://host/?%2561",
    "http://host/asdf%25%32%35asd": "http://host/asdf%2525asd",
}


def test_urlcanon__semantic_precise(shared: Shared) -> None:
    """All 280 come out as expected there without the fragment, as listed here, or are no URLs of the web."""
    vectors = json.loads(shared("url-urlcanon/semantic_precise.json").read_text())
    assert vectors.keys() >= PRECISE.keys()
    with_credentials = 0
    for text, expected in vectors.items():
        octets = text.encode("latin-1").decode("utf-8", "surrogateescape")  # the file writes bytes as characters
        if text in PRECISE:
            assert normal_form(octets) == PRECISE[text] != expected, text
        elif normal_form(octets) is Unusable.CREDENTIALS:  # there they are cut out of the URL
            with_credentials += 1
            assert "@" in text, text
        elif expected.startswith(("http:", "https:")):
            assert normal_form(octets) == expected.partition("#")[0], text
        else:
            assert normal_form(octets) is Unusable.SCHEME, text
    assert with_credentials == 15


def test_urlcanon__whatever_they_feed_is_idempotent(shared: Shared) -> None:
    """Their odd inputs, whose expected forms answer other questions, never raise and keep our form."""
    texts = list(json.loads(shared("url-urlcanon/idempotence.json").read_text()))
    texts += json.loads(shared("url-urlcanon/aggressive.json").read_text())
    texts += [entry["input_string"] for entry in _parsing(shared("url-urlcanon/parsing.json"))]
    assert len(texts) > 150
    for text in texts:
        url = normal_form(text)
        assert isinstance(url, Unusable) or normal_form(url) == url, text


def _parsing(path: Path) -> list[dict[str, str]]:
    loaded = json.loads(path.read_text())
    return [{"input_string": text} for text in loaded] if isinstance(loaded, dict) else loaded


# Scrapy's form sorts the query, encodes it anew as a form, decodes some reserved characters and keeps
# credentials; its safe form encodes brackets and backslashes that browsers send as they are.
W3LIB = {
    "http://[v6a.ip]": Unusable.HOST,
    "https://example.com\\a?b\\c": "https://example.com/a?b\\c",
    "https://example.com\\a?b\\c#d\\e": "https://example.com/a?b\\c",
    "https://example.com/[x]": "https://example.com/[x]",
    "https://example.com/a]b": "https://example.com/a]b",
    "http://example.com/search?tags[]=a": "http://example.com/search?tags[]=a",
    "http://[::1]:8080/p?q=[1]": "http://[::1]:8080/p?q=[1]",
    "http://www.example.com/do?c=1&b=2&a=3": "http://www.example.com/do?c=1&b=2&a=3",
    "http://www.example.com/do?&a=1": "http://www.example.com/do?&a=1",
    "http://www.example.com/do?c=3&b=5&b=2&a=50": "http://www.example.com/do?c=3&b=5&b=2&a=50",
    "http://www.example.com/do?b=&a=2": "http://www.example.com/do?b=&a=2",
    "http://www.example.com/do?b=&c&a=2": "http://www.example.com/do?b=&c&a=2",
    "http://www.example.com/do?1750,4": "http://www.example.com/do?1750,4",
    "http://www.example.com/do?q=a space&a=1": "http://www.example.com/do?q=a%20space&a=1",
    "http://www.example.com/do?q=a+space&a=1": "http://www.example.com/do?q=a+space&a=1",
    "http://www.example.com/do?q=a%20space&a=1": "http://www.example.com/do?q=a%20space&a=1",
    "https://example.com/a%23b%2cc#bash": "https://example.com/a%23b%2Cc",
    "http://www.example.com/do?price=£500&a=5&z=3": "http://www.example.com/do?price=%C2%A3500&a=5&z=3",
    "http://はじめよう.みんな/?query=サ&maxResults=5": (
        "http://xn--p8j9a0d9c9a.xn--q9jyb4c/?query=%E3%82%B5&maxResults=5"
    ),
    "http://foo.com/%0A%3BpE%7C": "http://foo.com/%0A%3BpE%7C",
}


def test_w3lib__safe_and_canonical_urls(shared: Shared) -> None:
    """With default options their results are other spellings of ours, or the difference is listed."""
    compared = 0
    lines = shared("url-w3lib/vectors.jsonl").read_text().splitlines()
    for vector in map(json.loads, lines):
        arguments, options = vector["args"], vector["kwargs"]
        if vector["fn"] not in {"safe_url_string", "canonicalize_url"} or options or len(arguments) > 1:
            continue  # query editing, and encodings other than UTF-8, are not what a normal form is for
        text = arguments[0]
        if not isinstance(text, str):
            continue  # bytes and parsed tuples have no counterpart here
        compared += 1
        assert normal_form(text) == _w3lib_expected(text, vector["result"]), text
    assert compared > 300


def _w3lib_expected(text: str, result: str) -> str | Unusable:
    """Their result in our normal form: credentials dropped, host in ASCII."""
    if text in W3LIB and normal_form(result) != normal_form(text):
        return W3LIB[text]
    return normal_form(result)


def test_nutch__default_pages(shared: Shared) -> None:
    """With rule 9 on, the same trailing names are removed as by Nutch."""
    lines = shared("url-misc/nutch-regex-normalize-default.test.txt").read_text().splitlines()
    pairs = [line.split() for line in lines if line and not line.startswith("#")]
    assert len(pairs) == 68
    same = 0
    for text, expected in pairs:
        url = normal_form(text, rules=UrlRules(drop_index=True, drop_sessions=False, drop_orders=False))
        if reason := _nutch_differs(text):
            assert url != expected, f"{text}: {reason}"
        else:
            assert url == expected, text
            same += 1
    assert same == 46


def _nutch_differs(text: str) -> str:
    """Why we leave alone what Nutch's default clean-up changes, or "" where we do not."""
    if text.startswith("file:"):
        return "not a URL of the web"
    if "sess" in text.lower() or "_sid=" in text or "&sid=" in text:
        return "session identifiers are handled by accepting cookies (P3, section 5.4), not by editing URLs"
    if text.endswith("?") or "?&" in text or "&&" in text:
        return "the query is data"
    if text.endswith("#something?x=y"):
        return "a question mark behind a fragment is part of the fragment"
    return "an empty segment is a segment" if "//" in text.partition("://")[2] else ""


def test_traps__real_urls_keep_their_form(shared: Shared) -> None:
    """A thousand real URLs full of traps are usable, and their tildes have one spelling."""
    with gzip.open(shared("traps-ics-urls/urls.txt.gz"), "rt") as lines:
        texts = [line.strip() for line in lines]
    forms = [normal_form("http://" + text) for text in texts]
    assert len(forms) == 1001
    for form in forms:
        assert not isinstance(form, Unusable)
        assert normal_form(form) == form
        assert "%7E" not in form


def test_psl__all_lines_of_the_lists_own_test(shared: Shared) -> None:
    """Registrable domains are those of the Public Suffix List's own test, null where there is none."""
    text = shared("psl-tests/test_psl.txt").read_text(encoding="utf-8")
    lines = re.findall(r"^checkPublicSuffix\((null|'[^']*'), (null|'[^']*')\);", text, re.MULTILINE)
    assert len(lines) == 78
    for host, expected in lines:
        assert registrable(host.strip("'") if host != "null" else "") == (
            None if expected == "null" else expected.strip("'")
        ), host
