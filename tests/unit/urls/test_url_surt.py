"""Keys for replay: the very ones that the Internet Archive's library makes."""

from __future__ import annotations

import csv
import doctest
import gzip
import importlib
import json
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from weft.urls import Unusable, host_of, normal_form, site_of, surt

Shared = Callable[[str], Path]


@pytest.fixture(scope="session")
def reference() -> Callable[[str], str]:
    """What pywb and the CDXJ indexers call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its regular expressions are not raw strings
        library = importlib.import_module("surt")

    def key(url: str) -> str:
        made = library.surt(url)
        assert isinstance(made, str)
        return made

    return key


ID32 = "0123456789abcdefghijABCDEFGHIJKL"
ID24 = "abcdefghijklmnopqrstuvwx"

HARD = [
    # Hosts and ports.
    "http://example.org/",
    "http://www.example.org/",
    "http://www2.example.org/",
    "http://www.www.example.org/",
    "http://wwwa.example.org/",
    "http://www/",
    "http://www.org/",
    "http://localhost:8080/a",
    "http://example.org:443/",
    "https://example.org:80/",
    "https://example.org:8443/?a",
    "http://example.org:0/",
    "http://192.0.2.1/",
    "http://0.0.0.0/",
    "http://0.8.9.10:81/a",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[2001:db8::1]:8080/A",
    "http://[::ffff:192.0.2.1]/",
    "http://xn--mnchen-3ya.de/",
    "http://www.xn--p8j9a0d9c9a.xn--q9jyb4c/?q",
    "http://münchen.de/straße?größe=ä",
    "http://a_b.example.org/",
    "http://a!$&'()*+,;=b.example.org/",
    'http://a"b.example.org/',
    "http://http//example.org/",
    "http://https//http://example.org/",
    # Paths.
    "http://example.org/A/b.HTML",
    "http://example.org/a/",
    "http://example.org/a//",
    "http://example.org//",
    "http://example.org///a///b",
    "http://example.org/a//../b",
    "http://example.org/.",
    "http://example.org/.well-known/a",
    "http://example.org/...",
    "http://example.org/a%2F..%2Fb",
    "http://example.org/%2F%2F",
    "http://example.org/a/%252E%252E/b",
    "http://example.org/..%2F..%2Fa",
    "http://example.org/%252e/",
    "http://example.org/a%2f",
    "http://example.org/;a;b,c:d@e",
    "http://example.org/[a]|b^c`d{e}",
    "http://example.org/a?b",
    # Escapes.
    "http://example.org/%7ea%41%C3%A9%c3%a9",
    "http://example.org/%20 %23%25",
    "http://example.org/%2525252541",
    "http://example.org/%%34%31",
    "http://example.org/%",
    "http://example.org/100%/a%zz%4",
    "http://example.org/%00%0A%0D%09%1F%7F%80%FF",
    "http://example.org/%3Fa=b%26c?d=%26e=%3D%23",
    "http://example.org/%3Fa",
    "http://example.org/%5C%22%3C%3E",
    "http://example.org/a?%2525%20+%2B%2F%3F",
    "http://example.org/a?%00%0A%FF",
    "http://example.org/€?€=€",
    # Queries.
    "http://example.org/?",
    "http://example.org/a/?",
    "http://example.org/a??",
    "http://example.org/a?&",
    "http://example.org/a?&&a&&",
    "http://example.org/a?=",
    "http://example.org/a?b=2&a=1",
    "http://example.org/a?b&b=&b=1&B=0&a",
    "http://example.org/a?a=1&a=1",
    "http://example.org/a?a=x=y&a=x!&a!=1",
    "http://example.org/a?a[]=1&a[0]=2&a.b=3&a-b=4",
    "http://example.org/a?q=http://example.com//b/../c",
    "http://example.org/a?a\\b'c",
    "http://example.org/a?a=/&b=/",
    # Session identifiers in queries.
    *(
        f"http://example.org/a?{query}"
        for name in ("jsessionid", "JSESSIONID", "PHPSESSID", "phpsessid", "sid", "SID", "xsid", "jsessionidx", "ssid")
        for query in (
            f"{name}={ID32}",
            f"b=2&{name}={ID32}",
            f"{name}={ID32}&a=1",
            f"b=2&{name}={ID32}&a=1",
            f"{name}={ID32}&{name}={ID32}",
            f"{name}={ID32}x",
            f"{name}={ID32[1:]}",
            f"{name}={ID32}%26a=1",
            f"{name}={ID32}&",
            f"{name}=",
        )
    ),
    f"http://example.org/a?sid={ID32}&phpsessid={ID32}&jsessionid={ID32}",
    f"http://example.org/a?jsessionid=phpsessid={ID32}",
    f"http://example.org/a?z=1&ASPSESSIONIDABCDEFGH={ID24}&a=2",
    f"http://example.org/a?aspsessionidabcdefgh={ID24.upper()}",
    f"http://example.org/a?ASPSESSIONIDABCDEFG={ID24}",
    "http://example.org/a?ASPSESSIONIDABCDEFGH=abcdefghijklmnopqrstuvw1",
    "http://example.org/a?b=1&CFID=1&CFTOKEN=2&a=3",
    "http://example.org/a?cfid=1&cftoken=2",
    "http://example.org/a?cfid=cfid=1&cftoken=2",
    "http://example.org/a?cfid=cfid=&cftoken=2",
    "http://example.org/a?cfid=&cftoken=2",
    "http://example.org/a?cfid=1&x&cftoken=2",
    # And in paths, where only those of ASP.NET count.
    f"http://example.org/a;jsessionid={ID32}",
    f"http://example.org/a;jsessionid={ID32}?b",
    f"http://example.org/({ID24})/a.aspx",
    f"http://example.org/b/({ID24})/c/a.aspx/d?e",
    f"http://example.org/(S({ID24}))/a.aspx",
    f"http://example.org/(A({ID24})S({ID24}))/A.ASPX",
    f"http://example.org/(S({ID24}))/({ID24})/a.aspx",
    f"http://example.org/({ID24})/({ID24})/a.aspx",
    f"http://example.org/({ID24})/a.html",
    f"http://example.org/({ID24})/.aspx",
    f"http://example.org/({ID24})/%3F.aspx",
    f"http://example.org/%28{ID24}%29/a.aspx",
    f"http://example.org/({ID24[1:]})/a.aspx",
]


@pytest.mark.parametrize("text", HARD)
def test_surt__is_the_librarys_on_hard_cases(reference: Callable[[str], str], text: str) -> None:
    """Ports, literals, escapes, empty parts, sessions."""
    url = normal_form(text)
    assert not isinstance(url, Unusable)
    assert surt(url) == reference(url)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.example.org/", "org,example)/"),
        ("https://WWW12.Example.org:443/A/", "org,example)/a"),
        ("http://example.org:8080/?", "org,example:8080)/"),
        ("http://192.0.2.1/a?c=1&b", "1,2,0,192)/a?b&c=1"),
        ("http://[2001:db8::1]:81/", "2001:db8::1:81)/"),
        ("http://münchen.de/ä%2Fb", "de,xn--mnchen-3ya)/%c3%a4/b"),
        (f"http://example.org/a?sid={ID32}", "org,example)/a"),
        (f"http://example.org/(S({ID24}))/a.aspx", "org,example)/a.aspx"),
    ],
)
def test_surt__as_written_in_indexes(url: str, key: str) -> None:
    """What a person can check by eye."""
    assert surt(str(normal_form(url))) == key


def test_surt__has_no_space_and_stays_when_asked_again(reference: Callable[[str], str]) -> None:
    """The key ends at the first space of a line; the cache of hosts changes nothing."""
    urls = [str(normal_form(text)) for text in HARD]
    keys = [surt(url) for url in urls]
    assert keys == [surt(url) for url in urls] == [reference(url) for url in urls]
    assert all(key.isascii() and key.isprintable() and " " not in key for key in keys)


# Pieces that the rules speak of are likelier than chance would make them.
PIECES = st.sampled_from(
    [
        *("/", "//", "/../", "/./", ".", "..", "%2F", "%2E", "%25", "%252E", "%3F", "%23", "%26", "%3D", "%", "%4"),
        *("%zz", "?", "&", "&&", "=", "a", "B", "c=1", "é", "%C3%A9", "%e9", " ", "+", "#", "\\", ";", "(", ")"),
        *(f"sid={ID32}", f"jsessionid={ID32}", f"PHPSESSID={ID32}", f"ASPSESSIONIDABCDEFGH={ID24}"),
        *("cfid=1&cftoken=2", f"({ID24})/", f"(S({ID24}))/", ".aspx", "www."),
    ]
)
TAILS = st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join)
LABELS = st.sampled_from(["www", "www1", "www.", "example", "xn--mnchen-3ya", "a-b", "é", "1", "0"]) | st.text(
    "abcwz019-_", min_size=1, max_size=4
)
HOSTS = (
    st.lists(LABELS, min_size=1, max_size=4).map(".".join)
    | st.ip_addresses(v=4).map(str)
    | st.ip_addresses(v=6).map("[{}]".format)
)
PORTS = st.sampled_from(["", "", "", ":", ":80", ":443", ":8080", ":0", ":65535"])
TEXTS = st.builds("{}://{}{}/{}".format, st.sampled_from(["http", "https"]), HOSTS, PORTS, TAILS)


@given(TEXTS | st.text().map("http://example.org/{}".format) | st.text().map("https://{}".format))
@example("http://example.org/%\x00")
def test_surt__is_the_librarys_on_whatever_has_a_normal_form(reference: Callable[[str], str], text: str) -> None:
    """Any URL in normal form, but those with an empty label in the host."""
    url = normal_form(text)
    assume(not isinstance(url, Unusable) and resolvable(url))
    assert surt(url) == reference(url)


def resolvable(url: str) -> bool:
    """Whether no label of the host is empty."""
    return "" not in host_of(site_of(url)).split(".")


def strings(value: object) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inside in value.items():
            yield from strings(name)
            yield from strings(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from strings(inside)


def lines(path: Path) -> list[str]:
    """The lines of a file that is packed or not."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode("utf-8", "surrogateescape").split("\n")


def words(path: Path) -> list[str]:
    """What lies between blanks."""
    return [word for line in lines(path) for word in line.split()]


def vectors(path: Path) -> list[str]:
    """Test vectors in JSON."""
    texts = lines(path) if path.suffix == ".jsonl" else [path.read_text()]
    return [found for text in texts if text for found in strings(json.loads(text))]


def cells(path: Path) -> list[str]:
    """Test vectors in CSV."""
    return [cell.strip() for row in csv.reader(lines(path)) for cell in row]


def requested(path: Path) -> list[str]:
    """What a server was asked for, and by what page."""
    found = [re.findall(r'"(?:[A-Z]+ (\S+) HTTP|(https?://[^"]*)")', line) for line in lines(path)]
    return [page or f"http://semicomplete.com{target}" for line in found for target, page in line]


def without_scheme(path: Path) -> list[str]:
    """A list of URLs that begin with their host."""
    return [f"http://{line}" for line in lines(path) if line]


@pytest.mark.parametrize(
    ("name", "texts", "least"),
    [
        ("graph-california/gr0.California.gz", words, 9000),
        ("graph-hollins/hollins.dat.gz", words, 6000),
        ("graph-ics-analyst/nodes.tsv.gz", words, 1200),
        ("graph-topic-cars/nodes.gz", words, 3400),
        ("log-apache-semicomplete/apache_logs.gz", requested, 1900),
        ("traps-ics-urls/urls.txt.gz", without_scheme, 900),
        ("url-crawlercommons/url-resolve.csv", cells, 10),
        ("url-crawlercommons/weirdToNormalizedUrls.csv", cells, 80),
        ("url-misc/nutch-regex-normalize-default.test.txt", words, 60),
        ("url-urlcanon/aggressive.json", vectors, 20),
        ("url-urlcanon/idempotence.json", vectors, 10),
        ("url-urlcanon/parsing.json", vectors, 20),
        ("url-urlcanon/semantic_precise.json", vectors, 100),
        ("url-urlcanon/surt.json", vectors, 3),
        ("url-w3lib/vectors.jsonl", vectors, 150),
        ("warc-samples/pywb/iana.cdx", words, 40),
    ],
)
def test_surt__is_the_librarys_on_real_urls(
    shared: Shared, reference: Callable[[str], str], name: str, texts: Callable[[Path], list[str]], least: int
) -> None:
    """Crawls, logs, and other people's test vectors."""
    forms = {normal_form(text) for text in texts(shared(name)) if re.match("https?:", text, re.IGNORECASE)}
    urls = sorted(url for url in forms if not isinstance(url, Unusable) and resolvable(url))
    assert len(urls) >= least
    wrong = {url: (surt(url), reference(url)) for url in urls if surt(url) != reference(url)}
    assert not wrong


def test_surt__is_what_pywb_wrote_into_its_samples(shared: Shared) -> None:
    """An index that others made, not the library called here."""
    checked = 0
    for path in sorted(shared("warc-samples/pywb").glob("*.cdxj")):
        for line in lines(path):
            key, _, rest = line.partition(" ")
            fields = json.loads(rest.partition(" ")[2] or "{}")
            url = normal_form(fields.get("url", ""))
            if not isinstance(url, Unusable) and "__wb" not in key:
                assert surt(url) == key, line
                checked += 1
    assert checked > 100


def test_surt__doctests_hold() -> None:
    """The examples are true."""
    failed, tried = doctest.testmod(importlib.import_module("weft.urls.surt"))
    assert tried
    assert not failed
