"""robots.txt read and matched as Google's open-source matcher does, and the command that asks it."""

from __future__ import annotations

import doctest
import gzip
import io
import json
import pickle
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.costs import check_costs

import weft.parse.robots
from weft.cli.robots import check
from weft.errors import UsageError
from weft.parse.robots import ALLOW_ALL, Robots, Verdict, parse_large, parse_robots, path_of

Shared = Callable[[str], Path]


def allows(text: str, agent: str, url: str) -> bool:
    """The short question: text of a file, agent, URL."""
    return parse_robots(text.encode("utf-8", "surrogateescape"), agent).allows(path_of(url))


# --- against Google's verdicts ---


@pytest.mark.parametrize("read", [parse_robots, parse_large])
def test_google__agrees_on_every_question_about_real_files(shared: Shared, read: Callable[..., Robots]) -> None:
    """Tens of thousands of questions about two thousand real files get the answer of Google's own matcher."""
    with tarfile.open(shared("robots-real-a/robots.tar.gz")) as archive:
        bodies = {
            Path(member.name).name: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive.getmembers()
            if member.isfile()
        }
    parsed: dict[tuple[str, str], Robots] = {}
    asked = {True: 0, False: 0}
    wrong = []
    with gzip.open(shared("robots-real-a/google-verdicts.jsonl.gz")) as lines:
        for question in map(json.loads, lines):
            key = question["file"], question["agent"]
            if key not in parsed:
                parsed[key] = read(bodies[key[0]], key[1])
            path = path_of(question["url"])
            answer = parsed[key].allows(path)
            assert parsed[key].verdict(path).allowed is answer
            asked[question["allowed"]] += 1
            if answer is not question["allowed"]:
                wrong.append(question)
    assert min(asked.values()) > 10_000
    assert not wrong


# --- a slow, literal matcher to compare with ---


def slow_match(path: str, pattern: str) -> bool:
    """All positions that the pattern can have reached, character by character."""
    reached = {0}
    for index, character in enumerate(pattern):
        if character == "$" and index == len(pattern) - 1:
            return len(path) in reached
        if character == "*":
            reached = set(range(min(reached), len(path) + 1))
        else:
            reached = {place + 1 for place in reached if path[place : place + 1] == character}
        if not reached:
            return False
    return True


def slow_allows(rules: list[tuple[bool, str]], path: str) -> bool:
    """The longest match among allowing and forbidding patterns, with the exception for index.htm."""
    longest = {True: 0, False: 0}
    for allow, pattern in rules:
        if slow_match(path, pattern):
            longest[allow] = max(longest[allow], len(pattern))
        elif allow and "/" in pattern:
            folder = pattern[: pattern.rindex("/") + 1]
            if pattern.startswith(folder + "index.htm") and slow_match(path, folder + "$"):
                longest[True] = max(longest[True], len(folder) + 1)
    return longest[False] <= longest[True]


PATTERNS = st.lists(st.sampled_from(["/", "a", "b", "*", "$", "index.htm", "l", "?"]), max_size=7).map("".join)
PATHS = st.lists(st.sampled_from(["/", "a", "b", "$", "*", "index.html", "?"]), max_size=8).map(
    lambda atoms: "/" + "".join(atoms)
)
RULES = st.lists(st.tuples(st.booleans(), PATTERNS), max_size=8)


@pytest.mark.parametrize("examples", [300, pytest.param(3000, marks=pytest.mark.soak)])
def test_matcher__agrees_with_a_literal_one(examples: int) -> None:
    """The index gives the same answers as trying every rule character by character."""

    @settings(max_examples=examples)
    @given(RULES, PATHS)
    def every(rules: list[tuple[bool, str]], path: str) -> None:
        lines = [f"{'Allow' if allow else 'Disallow'}: {pattern}" for allow, pattern in rules]
        robots = parse_robots("\n".join(["User-agent: *", *lines]).encode(), "weft")
        assert robots.allows(path) is slow_allows(rules, path)
        verdict = robots.verdict(path)
        assert verdict.allowed is slow_allows(rules, path)
        if verdict.rule is not None and verdict.line is not None:
            assert lines[verdict.line - 2] == verdict.rule

    every()


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=200), st.text(max_size=10), st.text(max_size=20))
def test_parser__takes_any_bytes(body: bytes, agent: str, path: str) -> None:
    """Nothing raises, and the same bytes give the same value."""
    robots = parse_robots(b"User-agent: *\n" + body, agent)
    assert robots == parse_robots(b"User-agent: *\n" + body, agent)
    assert robots.verdict(path).allowed is robots.allows(path)


# --- reading ---


@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: *\nDisallow: /p",
        b"User-agent: *\rDisallow: /p",
        b"User-agent: *\r\nDisallow: /p\r\n",
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /p",
        b"\xefUser-agent: *\nDisallow: /p",
        b"\xef\xbbUser-agent: *\nDisallow: /p",
        b"USER-AGENT:*\nDISALLOW:/p",
        b"  user-agent\t :  * \n\tdisallow : /p # secret",
        b"user-agent *\ndisallow /p",
        b"useragent: *\ndisallow\t/p",
        b"user agent: * and the rest\ndissallow: /p",
        b"User-agents: *\nDisallowed: /p",
        b"User-agent: *\nDissalow: /p",
        b"User-agent: *\nDisalow: /p",
        b"User-agent: *\nDiasllow: /p",
        b"User-agent: *\nDisallaw: /p",
        b"User-agent: *\nDisallow: /p\0/q",
        b"User-agent: *\nCrawl-delay: 3\nSitemap: /s\nOdd: line\nUser-agent: other\nDisallow: /p",
        b"User-agent: weft/2.0 (a crawler)\nDisallow: /p\nUser-agent: *\nAllow: /p",
        b"User-agent: WEFT\nUser-agent: other\nDisallow: /p",
        b"User-agent: weft\nDisallow: /x\nUser-agent: *\nAllow: /\nUser-agent: weft\nDisallow: /p",
        b"User-agent: *\nDisallow: /p" + b"#" * 600_000,
        b"#" * 600_000 + b"\nUser-agent: *\nDisallow: /p",
    ],
)
def test_parser__reads_all_these_as_a_rule_for_us(body: bytes) -> None:
    """Line ends, marks, case, blanks, misspellings, groups: each file forbids /p and not the home page."""
    robots = parse_robots(body, "weft")
    assert not robots.allows("/p")
    assert not robots.allows("/p/q")
    assert robots.allows("/")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n\n\n",
        b"Disallow: /p",
        b"<html><head><title>User-agent: *</title>\n<p>Disallow: /p",
        b"User-agent: *\nDesallow: /p",
        b"User-agent: *\nDisallow: ",
        b"User-agent: *\nDisallow",
        b"User-agent: *\nDisallow /p and more",
        b"User-agent: *\n: /p",
        b"User-agent: *bot\nDisallow: /p",
        b"User-agent: weftier\nDisallow: /p",
        b"User-agent: weft\nAllow: /\nUser-agent: *\nDisallow: /p",
        b"User-agent: weft\n\nUser-agent: other\nAllow: /p\n\nUser-agent: *\nDisallow: /p",
        "\ufeffUser-agent: *\nDisallow: /p".encode("utf-16-le"),
        "\ufeffUser-agent: *\nDisallow: /p".encode("utf-16-be"),
        b"User-agent: *\nDisallow: " + b" " * 20_000 + b"/p",
    ],
)
def test_parser__finds_no_rule_for_us_in_these(body: bytes) -> None:
    """Rules of nobody or of others, unknown keys, empty values, UTF-16: everything is allowed."""
    robots = parse_robots(body, "weft")
    assert robots.allows("/p")
    assert robots.verdict("/p").allowed


def test_parser__cuts_a_line_where_google_does() -> None:
    """16,663 bytes of a line count."""
    start = b"Disallow: /"
    body = b"User-agent: *\n" + start + b"a" * 20_000
    pattern = parse_robots(body, "weft").rules[0].pattern
    assert len(start) - 1 + len(pattern) == 2083 * 8 - 1


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/", "/anything", True),
        ("/fish", "/fish.html", True),
        ("/fish", "/Fish", False),
        ("/fish*", "/fishheads", True),
        ("/fish/", "/fish", False),
        ("/*.php", "/a/b.php?c", True),
        ("/*.php$", "/a/b.php?c", False),
        ("/*.php$", "/a/b.php", True),
        ("/fish*.php", "/fishheads/catfish.php", True),
        ("*", "/", True),
        ("*$", "/", True),
        ("$", "/", False),
        ("/$", "/", True),
        ("/$", "/a", False),
        ("/a$b", "/a$b/c", True),
        ("/a$*", "/a$", True),
        ("/a*a$", "/a", False),
        ("/a*a$", "/aa", True),
        ("fish", "/fish", False),
        ("/caf\u00e9", "/caf%C3%A9", True),
        ("/caf%c3%a9", "/caf%C3%A9", True),
        ("/%7Ejoe", "/~joe", True),
        ("/%7Ejoe", "/%7Ejoe", True),
        ("/~joe", "/%7Ejoe", False),
        ("/a%2Fb", "/a/b", False),
        ("/a%2Ab", "/axb", False),
        ("/**a***b", "/xxaxxb", True),
    ],
)
def test_matcher__knows_wildcards_ends_and_triplets(pattern: str, path: str, matches: bool) -> None:
    """One forbidding pattern, one path."""
    assert allows(f"User-agent: *\nDisallow: {pattern}", "weft", path) is not matches


@pytest.mark.parametrize(
    ("rules", "path", "verdict"),
    [
        (["Allow: /p", "Disallow: /"], "/page", (True, "Allow: /p", 2)),
        (["Allow: /folder", "Disallow: /folder"], "/folder/a", (True, "Allow: /folder", 2)),
        (["Disallow: /folder", "Allow: /folder"], "/folder/a", (True, "Allow: /folder", 3)),
        (["Allow: /page", "Disallow: /*.htm"], "/page.htm", (False, "Disallow: /*.htm", 3)),
        (["Allow: /page", "Disallow: /*.ph"], "/page.php5", (True, "Allow: /page", 2)),
        (["Allow: /$", "Disallow: /"], "/", (True, "Allow: /$", 2)),
        (["Allow: /$", "Disallow: /"], "/page.htm", (False, "Disallow: /", 3)),
        (["Disallow: /x", "Disallow: /x"], "/x", (False, "Disallow: /x", 2)),
        (["Disallow: /", "Allow: /a/index.html"], "/a/", (True, "Allow: /a/index.html", 3)),
        (["Disallow: /", "Allow: /a/index.html"], "/a/b", (False, "Disallow: /", 2)),
        (
            ["Disallow: /", "dissalow: /caf\u00e9 # c"],
            "/caf%C3%A9",
            (False, "Disallow: /caf\u00e9", 3),
        ),
        (["Disallow: /a"], "/b", (True, None, None)),
        (["Allow: /a"], "/a", (True, "Allow: /a", 2)),
    ],
)
def test_verdict__names_the_deciding_line(
    rules: list[str], path: str, verdict: tuple[bool, str | None, int | None]
) -> None:
    """The longest pattern decides, allowing on a tie, the first line of equal ones is named."""
    robots = parse_robots("\n".join(["User-agent: *", *rules]).encode(), "weft")
    assert robots.verdict(path) == Verdict(*verdict)
    assert robots.allows(path) is verdict[0]


def test_no_file__allows_everything() -> None:
    """For sites without a robots.txt."""
    assert ALLOW_ALL.allows("/")


def test_robots__survives_pickling() -> None:
    """What was parsed once can be handed to another process and answers alike."""
    robots = parse_robots(b"User-agent: *\nDisallow: /a*b$\nCrawl-delay: 2\nSitemap: /s.xml", "weft")
    again = pickle.loads(pickle.dumps(robots))  # noqa: S301
    assert again == robots
    assert not again.allows("/a-b")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", "/"),
        ("http://www.example.com", "/"),
        ("http://www.example.com/", "/"),
        ("http://www.example.com/a", "/a"),
        ("http://www.example.com/a/b?c=http://d.e/", "/a/b?c=http://d.e/"),
        ("http://www.example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
        ("http://www.example.com/a/b;c?d", "/a/b;c?d"),
        ("http://www.example.com?a", "/?a"),
        ("http://www.example.com/a#b/c", "/a"),
        ("http://www.example.com#a/b", "/"),
        ("example.com", "/"),
        ("example.com/a/b", "/a/b"),
        ("//a/b/c", "/b/c"),
        ("//a;b", "/;b"),
        ("/a://b", "/a://b"),
        ("a?b", "/?b"),
        ("#a", "/"),
        ("/a#b", "/a"),
    ],
)
def test_path_of__cuts_where_google_cuts(url: str, path: str) -> None:
    """Scheme, authority and fragment go; what is left begins with a slash."""
    assert path_of(url) == path


# --- crawl delays and sitemaps ---


@pytest.mark.parametrize(
    ("lines", "delay"),
    [
        (["User-agent: *", "Crawl-delay: 5"], 5.0),
        (["User-agent: *", "crawl-delay: 0.5 seconds"], 0.5),
        (["User-agent: *", "Crawl-delay: 2", "Crawl-delay: 7", "Crawl-delay: 3"], 7.0),
        (["User-agent: *", "Crawl-delay: 5", "User-agent: weft", "Crawl-delay: 0"], 0.0),
        (["User-agent: *", "Disallow: /a", "Crawl-delay: 5", "User-agent: weft", "Disallow:"], 5.0),
        (["User-agent: other", "Crawl-delay: 5", "Disallow:", "User-agent: weft", "Disallow:"], None),
        (["Crawl-delay: 5"], None),
        (["User-agent: *", "Crawl-delay: " + "9" * 400], None),
        (["User-agent: *", "Crawl-delay: soon"], None),
        (["User-agent: *", "Crawl-delay: -1"], None),
    ],
)
def test_crawl_delay__is_ours_or_everybodys(lines: list[str], delay: float | None) -> None:
    """Our own groups first, then those of "*"; the largest of several; no number, no delay."""
    assert parse_robots("\n".join(lines).encode(), "weft").crawl_delay == delay


def test_sitemaps__are_the_files_and_not_a_groups() -> None:
    """All of them, in order, once; the only colon may be the URL's own."""
    body = b"Sitemap: /a.xml\nUser-agent: other\nsite-map: https://x.org/B.xml\nSitemap: /a.xml\nSitemap:\n"
    body += b"sitemap https://x.org/c.xml\nSITEMAP: caf\xc3\xa9\n"
    found = parse_robots(body, "weft").sitemaps
    assert found == ("/a.xml", "https://x.org/B.xml", "https://x.org/c.xml", "café")


# --- other people's vectors ---

# Tests of Protego in which it is lenient, or strict, otherwise than Google's matcher.
PROTEGO_DIFFERS = {
    "test_escaped_url": "the URL is taken as it is; ours come in normal form",
    "test_unescaped_url": "the URL is taken as it is; ours come in normal form",
    "test_percentage_encoding": "non-ASCII characters of the URL are not encoded before matching",
    "test_percentage_encoding_query": "the same",
    "test_unicode_url_and_useragent": "product tokens are ASCII letters, '-' and '_'",
    "test_allowed_wildcards": "the agents' names have digits, which end a product token",
    "test_1996rfc_examples": "the same, and reserved characters are not decoded",
    "test_empty_user_agent_line": "a key without a value is no line",
    "test_robotstxt_is_always_allowed": "the matcher knows no exception; the crawler just fetches the file",
    "test_grouping_unknown_keys": "an unknown line does not end a list of agents",
    "test_generosity": "two words without a colon are key and value, three are nothing",
    "test_generosity_not_for_unknown_colon_directives": "a key is known by its beginning",
    "test_nonterminal_dollar": "%24 is not decoded",
    "test_escaped_special_symbols": "%24 and %2A are not decoded",
    "test_special_symbols_dual_behaviour": "a final $ is always the end",
    "test_with_absolute_urls": "a pattern is matched from the start of the path",
    "test_equal_sign_in_path": "%3D is not decoded",
}


def _protego_test(name: str) -> str:
    return name.rpartition("::")[2].partition("[")[0]


def test_protego__can_fetch(shared: Shared) -> None:
    """Its vectors hold, except in tests listed with the reason, and each of those has a difference."""
    differing: set[str] = set()
    compared = 0
    for vector in map(json.loads, shared("robots-protego-vectors/vectors.jsonl").read_text().splitlines()):
        if vector["op"] != "can_fetch":
            continue
        url, agent = vector["args"]
        same = allows(vector["robots"], agent, url) is vector["result"]
        name = _protego_test(vector["test"])
        compared += 1
        if not same:
            differing.add(name)
    assert compared == 365
    assert differing == PROTEGO_DIFFERS.keys()


def test_protego__crawl_delays_and_sitemaps(shared: Shared) -> None:
    """Where it reads a delay or a list of sitemaps, so do we."""
    compared = 0
    for vector in map(json.loads, shared("robots-protego-vectors/vectors.jsonl").read_text().splitlines()):
        body = vector["robots"].encode()
        if vector["op"] == "crawl_delay":
            compared += 1
            assert parse_robots(body, *vector["args"]).crawl_delay == vector["result"], vector
        elif vector["op"] == "sitemaps":
            compared += 1
            found = list(parse_robots(body, "weft").sitemaps)
            if _protego_test(vector["test"]) == "test_generosity_not_for_unknown_colon_directives":
                assert found == ["see https://site.local/sitemap.xml"]  # a key is known by its beginning
            else:
                assert found == vector["result"], vector
    assert compared == 25


@pytest.mark.parametrize(
    ("file", "agent", "allowed", "forbidden"),
    [
        ("rfc9309-example-simple-robots.txt", "anybot", ["/", "/publications/a"], ["/a.gif", "/example/"]),
        ("rfc9309-example-simple-robots.txt", "foobot", ["/example/page.html"], ["/", "/publications/"]),
        ("rfc9309-example-simple-robots.txt", "bazbot", ["/", "/a.gif"], ["/example/page.html"]),
        ("rfc9309-example-simple-robots.txt", "quxbot", ["/", "/a.gif", "/example/"], []),
        (
            "rfc9309-example-longest-match-robots.txt",
            "foobot",
            ["/example/page/a"],
            ["/example/page/disallowed.gif"],
        ),
        ("rfc9309-example-rule-group-merging.txt", "ExampleBot", ["/qux"], ["/foo", "/bar", "/baz"]),
        ("rfc9309-example-rule-group-merging.txt", "BazBot", ["/foo", "/bar"], ["/baz"]),
        ("rfc9309-example-rule-group-merging.txt", "anybot", ["/baz"], ["/foo", "/bar"]),
        ("crawl-delay-group-merging.txt", "mybot", ["/login/"], ["/private/"]),
        ("crawl-delay-group-merging.txt", "yourbot", ["/"], ["/private/", "/login/"]),
        ("extensions-group-merging.txt", "anybot", ["/llms.txt"], ["/", "/private/"]),
        ("extensions-group-merging.txt", "mybot", ["/a"], ["/private/", "/login/"]),
        ("extension-robots.txt", "mybot", ["/secret/"], ["/private/"]),
        ("merge-rules.txt", "wget", ["/foo/bar", "/ckh/bar"], ["/tmp/bar"]),  # noqa: S108
        ("merge-rules.txt", "anybot", ["/ckh/bar"], ["/foo/bar", "/tmp/bar"]),  # noqa: S108
        ("precedence-of-rules.txt", "wget", ["/foo", "/index.html", "/foo/x"], ["/bar"]),
        ("precedence-of-rules.txt", "testy", ["/foo/bar", "/"], ["/foo/b", "/foo"]),
        # Digits end a product token: "bot1" to "bot4" are all groups of "bot".
        ("directive-typos-robots.txt", "bot1", ["/dissalow/"], []),
        (
            "directive-typos-robots.txt",
            "bot",
            ["/desallow/"],
            ["/dissalow/", "/useragent/", "/useragent-no-colon/"],
        ),
        (
            "format-errors-robots.txt",
            "bot",
            ["/whitespace-before-colon"],
            ["/", "/no-colon/", "/no-colon-useragent/"],
        ),
        ("many-user-agents.txt", "Alexibot", [], ["/"]),
        ("many-user-agents.txt", "anybot", ["/"], []),
        ("malformed-path.txt", "anybot", ["/wiki/"], ["/wiki/Wikipedia_talk%3Mediation_Committee/"]),
        (
            "wildcards.txt",
            "anybot",
            ["/wishlist/universal-a"],
            ["/wishlist/a", "/gp/registry/wishlist/a/reserve"],
        ),
        ("wildcards.txt", "anybot", ["/gcr"], ["/gcrnsts", "/x/gcrnsts"]),
        ("wildcards.txt", "Googlebot", ["/rss/people/"], ["/rss/people/a/reviews", "/x/sim/B001132UEE"]),
        ("robots-with-utf8-bom.txt", "anybot", ["/"], ["/profile", "/a/output/print"]),
        ("robots-with-utf16le-bom.txt", "anybot", ["/", "/profile"], []),
        ("robots-with-utf16be-bom.txt", "anybot", ["/", "/profile"], []),
        ("twitter.com-robots.txt", "anybot", ["/a"], ["/a?b", "/a/with_friends"]),
    ],
)
def test_crawler_commons__files(
    shared: Shared, file: str, agent: str, allowed: list[str], forbidden: list[str]
) -> None:
    """The files of crawler-commons' tests, with what RFC 9309 as Google reads it expects."""
    body = shared(f"robots-crawlercommons/{file}").read_bytes()
    robots = parse_robots(body, agent)
    assert [path for path in allowed if not robots.allows(path)] == []
    assert [path for path in forbidden if robots.allows(path)] == []


def test_crawler_commons__delays_and_sitemaps(shared: Shared) -> None:
    """Delays follow groups, sitemaps the file."""

    def read(file: str, agent: str = "anybot") -> Robots:
        return parse_robots(shared(f"robots-crawlercommons/{file}").read_bytes(), agent)

    assert read("crawl-delay-group-merging.txt", "mybot").crawl_delay == 10.0
    assert read("crawl-delay-group-merging.txt").crawl_delay == 30.0
    assert read("dos-line-endings.txt").crawl_delay == 1.0
    assert read("astore.amazon.com-robots.txt").crawl_delay == 5.0
    assert read("twitter.com-robots.txt", "msnbot").crawl_delay == 10.0
    assert read("relative-sitemap-robots.txt").sitemaps == ("/sitemap.xml",)
    assert read("sitemap-robots-dedup.txt").sitemaps == ("http://example.org/sitemap.xml",)
    assert len(read("sitemap-robots.txt").sitemaps) == 2
    assert len(read("wildcards.txt").sitemaps) == 8
    assert read("www.flot.com-robots.txt").sitemaps == ("http://flot.com/sitemap_index.xml",)


def test_doctests__hold() -> None:
    """Every example in the module's docstrings gives what it says."""
    outcome = doctest.testmod(weft.parse.robots)
    assert outcome.attempted
    assert not outcome.failed


# --- hostile files ---

HOSTILE = {
    "one pattern of stars": b"Disallow: /" + b"*a" * 8_000,
    "many such patterns": b"\n".join(b"Disallow: /" + b"*a" * 8_000 + b"%d" % i for i in range(30)),
    "stars only": b"Disallow: " + b"*" * 16_000 + b"$",
    "nearly matching": b"Disallow: /*" + b"a" * 8_000 + b"b",
    "many wildcards": b"\n".join(b"Disallow: /*a*a*a*b%d" % i for i in range(20_000)),
    "many prefixes": b"\n".join(b"Disallow: /%d" % i for i in range(40_000)),
    "nested prefixes": b"\n".join(b"Disallow: /" + b"a" * i for i in range(1_000)),
    "many agents": b"\n".join(b"User-agent: a%d" % i for i in range(30_000)),
    "many sitemaps": b"\n".join(b"Sitemap: /%d" % i for i in range(30_000)),
    "empty lines": b"\r" * 500_000,
    "one line": b"x" * 500_000,
    "NULs": b"\0" * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile__files_cost_little(name: str) -> None:
    """Half a megabyte of malice costs as much to read as some loops in Python, and little to ask."""
    body = (b"User-agent: *\n" + HOSTILE[name])[:512_000]
    check_costs(lambda: parse_robots(body, "weft"), steps=60_000_000)
    robots = parse_robots(body, "weft")
    for path in ("/" + "a" * 2_000, "/" + "ab" * 1_000, "/x"):
        check_costs(lambda path=path: robots.allows(path), steps=300_000)  # type: ignore[misc]


# --- the command ---


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Callable[..., str]:
    """Give the command its input; get its output."""

    def call(stdin: bytes, *arguments: object, **options: object) -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            check(*arguments, **options)  # type: ignore[arg-type]
        finally:
            call.out = capsysbinary.readouterr().out.decode("utf-8", "surrogateescape")  # type: ignore[attr-defined]
        return call.out  # type: ignore[attr-defined, no-any-return]

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one robots.txt."""
    (tmp_path / "robots.txt").write_bytes(b"User-agent: *\nDisallow: /private/\nAllow: /private/a\tb\n")
    return tmp_path


def test_check__answers_urls(ask: Callable[..., str], folder: Path) -> None:
    """One line per URL: the word, the deciding rule, the URL."""
    out = ask(b"https://a.org/private/x\n/\r\n/private/a\tb\n/caf\xe9", folder / "robots.txt", "weft")
    assert out.splitlines() == [
        "disallow\tDisallow: /private/\thttps://a.org/private/x",
        "allow\tno rule\t/",
        "allow\tAllow: /private/a b\t/private/a\tb",
        "allow\tno rule\t/caf\udce9",
    ]


def test_check__answers_questions(ask: Callable[..., str], folder: Path) -> None:
    """Each JSON question comes back with its answer, in order, other keys untouched."""
    questions: list[dict[str, object]] = [
        {"file": "robots.txt", "agent": "weft", "url": "https://a.org/private/", "id": 7},
        {"file": "robots.txt", "agent": "other", "url": "/caf\u00e9"},
    ]
    out = ask("\n".join(map(json.dumps, questions)).encode(), jsonl=True, directory=folder)
    assert [json.loads(line) for line in out.splitlines()] == [
        questions[0] | {"allowed": False, "rule": "Disallow: /private/"},
        questions[1] | {"allowed": True, "rule": None},
    ]


@pytest.mark.parametrize(
    "line",
    [
        '{"file": "nowhere", "agent": "a", "url": "/"}',
        '{"file": "", "agent": "a", "url": "/"}',
        '{"file": "robots.txt", "agent": 1, "url": "/"}',
        '{"file": "robots.txt"}',
        *["not JSON", "[]", "3", "", "[" * 100_000],
    ],
)
def test_check__says_which_line_is_broken(ask: Callable[..., str], folder: Path, line: str) -> None:
    """Misuse, with the line number; what was answered before it is printed."""
    good = b'{"file": "robots.txt", "agent": "a", "url": "/"}\n'
    with pytest.raises(UsageError, match="line 2") as caught:
        ask(good + line.encode() + b"\n" + good, jsonl=True, directory=folder)
    assert caught.value.exit_code == 2
    assert len(ask.out.splitlines()) == 1  # type: ignore[attr-defined]


def test_check__refuses_misuse(folder: Path) -> None:
    """FILE and AGENT, or neither with --jsonl; and the file must be readable."""
    with pytest.raises(UsageError, match="missing"):
        check()
    with pytest.raises(UsageError, match="missing"):
        check(folder / "robots.txt")
    with pytest.raises(UsageError, match="--jsonl"):
        check(folder / "robots.txt", "weft", jsonl=True)
    with pytest.raises(UsageError, match="cannot read"):
        check(folder / "nowhere", "weft")


# --- files of our own, with the verdicts of Google's matcher ---

OWN = Path(__file__).resolve().parents[2] / "data" / "robots"


def test_google__agrees_on_files_of_our_own() -> None:
    """Every rule of reading and matching, asked of Google's matcher once and kept with us."""
    said = json.loads((OWN / "verdicts.json").read_text(encoding="utf-8"))
    asked, wrong = 0, []
    for file, agents in said["forbidden"].items():
        for agent, forbidden in agents.items():
            robots = parse_robots((OWN / file).read_bytes(), agent)
            asked += len(said["paths"])
            found = {path for path in said["paths"] if not robots.allows(path_of(f"http://a.example{path}"))}
            wrong += [(file, agent, path) for path in sorted(found ^ set(forbidden))]
    assert asked > 2_000
    assert wrong == []
