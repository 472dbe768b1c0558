"""The promises of `normal_form`, one by one and for any text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.costs import check_linear

from weft.urls import Unusable, UrlRules, credentials_of, normal_form
from weft.urls.normal import _parsed

BASE = "https://www.example.org/a/b.html?x=1"
BASES = [
    None,
    BASE,
    "http://example.org:8080/%41/",
    "https://example.org/caf%C3%A9/x",
    "http://example.org./x",
    "http://www.example.org",
    "http://example.org/%%41/q?%",
    "https://example.org/a/b/#f",
    "mailto:someone@example.org",
    "no base",
]
ATOMS = st.sampled_from(
    [
        *["http://", "https://", "HTTP:", "//", "/", "a", "example.org", "EX", "..", ".", "%2e", "%", "%41"],
        *[
            "%7e",
            "%C3",
            "%c3%A9",
            "%20",
            "%36",
            "%31",
            "%2",
            "?",
            "#",
            "@",
            ":",
            "80",
            ":443",
            ":8080",
            "[::1]",
        ],
        *["1.2.3.4", "0x7f.1", "é", "ß", "xn--", "xn--bcher-kva", "\t", "\n", " ", "\\", "'", "|", "{", "^"],
        *['"', "<", "\x00", "\udce9", "\ud800", "www.", "index.html", ".com", "-", "_", "~", "=", "&", "+"],
        *[";", "*", "$", "(", "!"],
    ]
)
LINKS = st.lists(ATOMS, max_size=9).map("".join)
URLS = st.builds("http://{}/{}".format, st.sampled_from(["a.com", "EX.org", "a..b", "a.com.", "u:p@h"]), LINKS)
ANY_TEXT = st.text(st.characters(), max_size=40)
RULES = st.builds(
    UrlRules, add_www=st.booleans(), drop_index=st.booleans(), drop_sessions=st.booleans(), drop_orders=st.booleans()
)


@settings(max_examples=500, deadline=None)
@given(st.one_of(LINKS, URLS, ANY_TEXT), st.sampled_from(BASES), RULES)
def test_normal_form__is_idempotent(text: str, base: str | None, rules: UrlRules) -> None:
    """What comes out goes in again unchanged, by the same rules and whatever the base."""
    url = normal_form(text, base, rules)
    if not isinstance(url, Unusable):
        assert normal_form(url, rules=rules) == url
        assert normal_form(url, base, rules) == url


@settings(max_examples=500, deadline=None)
@given(st.one_of(LINKS, URLS, ANY_TEXT), st.one_of(st.sampled_from(BASES), ANY_TEXT))
def test_normal_form__never_raises_and_is_clean(text: str, base: str | None) -> None:
    """Any text with any base gives a reason or a plain ASCII URL without fragment, credentials or blanks."""
    url = normal_form(text, base)
    if isinstance(url, Unusable):
        assert url.sentence
        return
    scheme, _, rest = url.partition("://")
    host, slash, _ = rest.partition("/")
    assert scheme in {"http", "https"}
    assert host
    assert slash
    assert "@" not in host
    assert host == host.lower()
    assert url.isascii()
    assert not set("# \t\r\n\x00") & set(url)


@settings(max_examples=500, deadline=None)
@given(st.one_of(LINKS, URLS), st.sampled_from(BASES))
def test_normal_form__short_cuts_agree_with_the_parser(text: str, base: str | None) -> None:
    """Links that are recognised without parsing come out as the parser has them."""
    assert normal_form(text, base) == _parsed(text, base)


@settings(max_examples=500, deadline=None)
@given(st.text("abcXYZ019-._~!$&()*+,;=:@/?%C3A9 'é", max_size=30), st.sampled_from(BASES))
def test_normal_form__plain_links_agree_with_the_parser(text: str, base: str | None) -> None:
    """The same for texts of which most take the short cut."""
    for link in (text, "/" + text, "http://example.org/" + text, "https://example.org" + text):
        assert normal_form(link, base) == _parsed(link, base)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://example.org/%3a%c3%a9", "http://example.org/%3A%C3%A9"),  # rule 1
        ("http://example.org/%7Ea%2Db%5F?%41", "http://example.org/~a-b_?A"),  # rule 2
        ("http://WWW.Example.ORG/Path", "http://www.example.org/Path"),  # rule 3
        ("http://example.org/a/./b/../c", "http://example.org/a/c"),  # rule 4
        ("http://example.org:80/", "http://example.org/"),  # rule 5
        ("https://example.org:443/", "https://example.org/"),
        ("http://example.org:443/", "http://example.org:443/"),
        ("http://example.org", "http://example.org/"),  # rule 6
        ("http://example.org?q", "http://example.org/?q"),
        ("http://example.org/a#b#c", "http://example.org/a"),  # rule 7
    ],
)
def test_normal_form__obeys_rules_1_to_7_of_p3(text: str, url: str) -> None:
    """Case and decoding of triplets, host case, dot segments, default port, empty path, fragment."""
    assert normal_form(text) == url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://user:secret@example.org/a@b", Unusable.CREDENTIALS),
        ("http://@example.org/a@b", "http://example.org/a@b"),
        ("http://user@example.org:8080/", Unusable.CREDENTIALS),
        ("http://example.org./a", "http://example.org/a"),
        ("http://example.org.:8080/a", "http://example.org:8080/a"),
        ("http://example.org/a?", "http://example.org/a?"),
        ("http://example.org//a//b", "http://example.org//a//b"),
        ("http://example.org/?b=1&a=2", "http://example.org/?b=1&a=2"),
        ("http://example.org/100%", "http://example.org/100%"),
        ("http://example.org/%%36%31", "http://example.org/%%36%31"),
        ("  \nhttp://exa\tmple.org/a b\r\n ", "http://example.org/a%20b"),
        ("http:\\\\example.org\\a\\b", "http://example.org/a/b"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[0:0:0:0:0:0:0:1]:80/", "http://[::1]/"),
        ("http://example.org/caf\udce9", "http://example.org/caf%E9"),
        ("http://example.org/half\ud800", "http://example.org/half%EF%BF%BD"),
    ],
)
def test_normal_form__decides_what_the_rules_leave_open(text: str, url: str | Unusable) -> None:
    """Credentials are refused, one last dot goes; queries, doubled slashes and stray percent signs stay."""
    assert normal_form(text) == url


@pytest.mark.parametrize(
    ("text", "base", "reason"),
    [
        ("", None, Unusable.NO_SCHEME),
        ("example.org/a", None, Unusable.NO_SCHEME),
        ("/a", None, Unusable.NO_SCHEME),
        ("/a", "no base", Unusable.NO_SCHEME),
        ("mailto:someone@example.org", BASE, Unusable.SCHEME),
        ("javascript:void(0)", BASE, Unusable.SCHEME),
        ("data:,x", None, Unusable.SCHEME),
        ("ftp://[::", None, Unusable.SCHEME),
        ("a", "ftp://example.org/", Unusable.SCHEME),
        ("http://", None, Unusable.HOST),
        ("http://exa mple.org/", None, Unusable.HOST),
        ("//exa mple.org/", BASE, Unusable.HOST),
        ("http://1.2.3.4.5/", None, Unusable.HOST),
        ("http://example.org:65536/", None, Unusable.HOST),
        ("h\nttp://[::", None, Unusable.HOST),
        ("http://a..b/", None, Unusable.HOST),
        ("http://.a.b/", None, Unusable.HOST),
        ("http://./", None, Unusable.HOST),
        ("http://example.org../a", None, Unusable.HOST),
        ("http://example.org..:8080/a", None, Unusable.HOST),
        ("//a..b:8080/", BASE, Unusable.HOST),
        ("/a", "http://a..b/", Unusable.HOST),
        (f"http://{'a' * 64}.org/", None, Unusable.HOST),
        (f"http://www.{'a' * 64}/", None, Unusable.HOST),
        (f"http://bücher{'x' * 56}.org/", None, Unusable.HOST),
        (f"http://{'a.' * 126}org/", None, Unusable.HOST),
        (f"//{'a.' * 126}org:8080/", BASE, Unusable.HOST),
    ],
)
def test_normal_form__says_why_not(text: str, base: str | None, reason: Unusable) -> None:
    """A text without a normal form gets the reason that fits."""
    assert normal_form(text, base) is reason


@pytest.mark.parametrize(
    "url",
    [
        f"http://{'a' * 63}.org/",
        f"http://{'a' * 63}:8080/",
        f"http://{'a.' * 125}org/",
        f"http://{'a.' * 125}org:65535/",
        f"http://{'a.' * 125}org/{'b' * 300}",
        f"http://{'a' * 31}.{'b' * 31}/?c=http://d..e/",
        "http://[1:2:3:4:5:6:7:8]:8080/",
    ],
)
def test_normal_form__keeps_names_that_the_dns_can_hold(url: str) -> None:
    """Labels of up to 63 characters in names of up to 253 (RFC 1035); ports, paths and addresses do not count."""
    assert normal_form(url) == url
    assert normal_form("x", url) == normal_form(url.partition("?")[0][: url.rindex("/") + 1] + "x")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("", "http://www.example.org/"),
        ("/a", "http://www.example.org/a"),
        ("a/b.html", "http://www.example.org/a/b.html"),
        ("?q=1", "http://www.example.org/?q=1"),
        ("#top", "http://www.example.org/"),
    ],
)
def test_normal_form__resolves_against_a_base_without_a_path(text: str, url: str) -> None:
    """As people type it: its path is /."""
    assert normal_form(text, "http://www.example.org") == url


def test_normal_form__keeps_an_absolute_link_of_a_page_with_a_broken_base() -> None:
    """A base that is no URL takes only relative links with it."""
    assert normal_form("http://example.org:80/a", "::") == "http://example.org/a"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://example.org/", "http://www.example.org/"),
        ("http://example.co.uk:8080/a", "http://www.example.co.uk:8080/a"),
        ("http://www.example.org/", "http://www.example.org/"),
        ("http://a.example.org/", "http://a.example.org/"),
        ("http://co.uk/", "http://co.uk/"),
        ("http://localhost/", "http://localhost/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://[::1]/", "http://[::1]/"),
        ("http://www.ck/", "http://www.ck/"),
    ],
)
def test_rule_8__adds_www_to_bare_registered_domains_only(text: str, url: str) -> None:
    """Names below or above a registered domain, addresses and single labels stay."""
    assert normal_form(text, rules=UrlRules(add_www=True)) == url
    assert normal_form(text) == text


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://example.org/a/index.html", "http://example.org/a/"),
        ("http://example.org/Default.aspx", "http://example.org/"),
        ("http://example.org/index.html?a", "http://example.org/index.html?a"),
        ("http://example.org/?a=/index.html", "http://example.org/?a=/index.html"),
        ("http://example.org/myindex.html", "http://example.org/myindex.html"),
        ("http://example.org/index.html/", "http://example.org/index.html/"),
        ("http://example.org/index.txt", "http://example.org/index.txt"),
    ],
)
def test_rule_9__drops_well_known_trailing_names_only(text: str, url: str) -> None:
    """A name that is not at the very end of the URL, or not well known, stays."""
    assert normal_form(text, rules=UrlRules(drop_index=True)) == url
    assert normal_form(text) == text


@pytest.mark.parametrize(
    "long",
    [
        lambda n: "http://example.org/" + "a/" * n,
        lambda n: "http://example.org/" + "a/../" * n,
        lambda n: "http://example.org/" + "%41" * n,
        lambda n: "http://example.org/" + "%" * n,
        lambda n: "http://" + "a." * n + "/",
        lambda n: "http://" + "a." * n + "!",
        lambda n: "http://" + "é" * n + "/",
        lambda n: "../" * n,
        lambda n: "a" * n + ":",
        lambda n: " " * n,
        lambda n: "\udcff" * n,
    ],
)
def test_normal_form__takes_linear_time(long) -> None:  # type: ignore[no-untyped-def]
    """Ten times the text takes about ten times as long, not a hundred times."""
    check_linear(long, lambda text: normal_form(text, BASE), size=300_000)


ID = "0123456789abcdef0123456789ABCDEF"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://a.example/b;jsessionid=1A2B?x=1&PHPSESSID=9&y=2", "http://a.example/b?x=1&y=2"),
        ("http://a.example/?PHPSESSID=x", "http://a.example/"),
        ("http://a.example/?a=1&PHPSESSID=x", "http://a.example/?a=1"),
        ("http://a.example/?phpsessid=x&a=1", "http://a.example/?a=1"),
        (f"http://a.example/?a=1;sid={ID};b=2", "http://a.example/?a=1;b=2"),
        (f"http://a.example/?sid={ID}&sid={ID}", "http://a.example/"),
        ("http://a.example/x;jsessionid=A1/y;v=1", "http://a.example/x/y;v=1"),
        ("http://a.example/?CFID=1&CFTOKEN=2&page=3", "http://a.example/?page=3"),
        ("http://a.example/?sid=7", "http://a.example/?sid=7"),
        ("http://a.example/?session=introduction-to-crawling", "http://a.example/?session=introduction-to-crawling"),
        ("http://a.example/?q=jsessionid", "http://a.example/?q=jsessionid"),
        ("http://a.example/?", "http://a.example/?"),
        ("http://a.example/?x=1&&y=2", "http://a.example/?x=1&&y=2"),
    ],
)
def test_sessions__are_no_part_of_a_url(text: str, url: str) -> None:
    """Where a name, or its value, says plainly what it is; by default of a crawl, and not of the normal form alone."""
    assert normal_form(text, rules=UrlRules()) == url
    assert normal_form(text) == text


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://a.example/d/?C=N;O=D", "http://a.example/d/"),
        ("http://a.example/d/?C=M&O=A", "http://a.example/d/"),
        ("http://a.example/d/?S=A", "http://a.example/d/"),
        ("http://a.example/d/?C=N;O=D&x=1", "http://a.example/d/?C=N;O=D&x=1"),
        ("http://a.example/d/?x=1&S=A", "http://a.example/d/?x=1&S=A"),
        ("http://a.example/d/?s=a", "http://a.example/d/?s=a"),
    ],
)
def test_orders__of_a_folder_are_one(text: str, url: str) -> None:
    """As Apache writes them, and nothing else."""
    assert normal_form(text, rules=UrlRules()) == url
    assert normal_form(text, rules=UrlRules(drop_orders=False)) == text


@pytest.mark.parametrize("piece", ["&PHPSESSID=1", ";jsessionid=1/", "&sid=" + "a-" * 30, ";sess", "&"])
def test_sessions__cost_what_the_length_says(piece: str) -> None:
    """However many there are."""
    rules = UrlRules()
    check_linear(
        lambda size: "http://a.example/?x" + piece * (size // len(piece)),
        lambda text: normal_form(text, rules=rules),
        size=200_000,
    )


def test_credentials__are_taken_off_whatever_else_is_in_the_url() -> None:
    """A seed may have a byte that is no UTF-8; with its credentials it would be refused."""
    bare, found = credentials_of("http://me:secret@example.org/\udce9")
    assert (bare, found) == ("http://example.org/%E9", ("me", "secret"))
