"""robots.txt: read in Python and by compiled code alike, and matched as a plain matcher does that tries everything.

The last line of an input is a path that is asked about, beside some others.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.corpora import files, packed, strings
from tests.fuzz.target import Target, words

from weft.parse.robots import (
    _TOO_MANY,
    _TOO_MUCH,
    Robots,
    Rule,
    _all_patterns,
    _Reader,
    _records,
    parse_large,
    parse_robots,
    path_of,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

PATHS = ("/", "/a", "/a/index.html", "/a?b=c", "/%E4", "/a~")
_BOUNDS = {str(_TOO_MUCH), str(_TOO_MANY)}
_MOST_COMPARED = 200  # rules: the plain matcher takes long


def check(data: bytes) -> None:
    """Both readers, every verdict."""
    last = data.rpartition(b"\n")[2].decode("utf-8", "surrogateescape")
    paths = (*PATHS, "/" + last[:2_000])
    for agent in ("weft", ""):
        small, large = _in_python(data, agent), parse_large(data, agent)
        assert parse_robots(data, agent) == small
        assert tuple(large.rules) == tuple(small.rules)
        assert (large.crawl_delay, large.sitemaps) == (small.crawl_delay, small.sitemaps)
        _check_file(data, small)
        for path in paths:
            verdict = small.verdict(path)
            assert large.verdict(path) == verdict, path
            assert small.allows(path) is verdict.allowed
            assert large.allows(path) is verdict.allowed
            if verdict.rule not in _BOUNDS and len(small.rules) <= _MOST_COMPARED:
                assert verdict.allowed == plainly_allowed(small.rules, path), path
    asked = path_of(last)
    assert asked[:1] == "/"


def _in_python(data: bytes, agent: str) -> Robots:
    """As small files are read, whatever its size."""
    reader = _Reader(agent)
    for record in _records(data):
        reader.read(*record)
    return reader.robots()


def _check_file(data: bytes, robots: Robots) -> None:
    assert robots.crawl_delay is None or (math.isfinite(robots.crawl_delay) and robots.crawl_delay >= 0)
    assert all(robots.sitemaps)
    assert len(robots.rules) + len(robots.sitemaps) <= len(data) + 1
    assert all(rule.pattern.isascii() for rule in robots.rules)
    assert robots.size > 0
    assert pickle.loads(pickle.dumps(robots)) == robots  # noqa: S301


def plainly_allowed(rules: Sequence[Rule], path: str) -> bool:
    """The longest pattern that matches decides, allowing on a tie; by trying all of them, star by star."""
    best, allowed = 0, True
    for pattern, rule in _all_patterns(rules):
        rank = 2 * len(pattern) + rule.allow
        if rank > best and _matches(pattern, path):
            best, allowed = rank, rule.allow
    return allowed


def _matches(pattern: str, path: str) -> bool:
    """By the places of the path at which the pattern may have arrived (as Google's matcher does)."""
    places = {0}
    for number, sign in enumerate(pattern):
        if sign == "$" and number == len(pattern) - 1:
            return len(path) in places
        if sign == "*":
            places = set(range(min(places), len(path) + 1))
        else:
            places = {place + 1 for place in places if place < len(path) and path[place] == sign}
        if not places:
            return False
    return True


def real(data: Path) -> list[bytes]:
    """Files of popular sites, and of the tests of others."""
    found = packed(data / "robots-real-a" / "robots.tar.gz")
    found += files(data / "robots-crawlercommons", "*.txt")
    return found + strings(data / "robots-protego-vectors" / "vectors.jsonl")


def grammar() -> SearchStrategy[bytes]:
    """Lines with keys, colons and patterns, most of them right."""
    from hypothesis import strategies as st

    key = st.sampled_from(
        words(
            r"User-agent Allow Disallow disalow Sitemap sitemap\x20https Crawl-delay \x20\tallow user\x20agent x "
            r"\xef\xbb\xbfallow"
        )
    )
    colon = st.sampled_from([b": ", b":", b" ", b"\t:\v", b""])
    word = st.sampled_from(
        [*words(r"weft * / /a $ %41 %e4 \xe4 % /index.html # \x00 ? = 5 .5 1e9 ~ b \xff"), b"a" * 70, b"9" * 400]
    )
    value = st.lists(word, max_size=6).map(b"".join)
    line = st.tuples(key, colon, value, st.sampled_from([b"\n", b"\r", b"\r\n"])).map(b"".join)
    ours = st.sampled_from([b"User-agent: *\n", b"User-agent: weft\n"])
    body = st.lists(ours | line | line, max_size=15).map(b"".join)
    return st.tuples(body, st.integers(1, 60), value).map(lambda parts: parts[0] * parts[1] + parts[2])


TARGET = Target(
    check,
    own=(
        b"User-agent: *\nDisallow: /private/\nAllow: /private/*.html$\nCrawl-delay: 5\nSitemap: http://a/b\n/private/a.html",
        b"\xef\xbb\xbfUser-agent: weft\r\nDisallow: /%7Ea\rAllow: /a/index.html\r\n\r\nuser-agent: x\nDisallow:/\n~a",
        b"<html><body>Not found</body></html>",
    ),
    real=real,
    words=(
        *words(
            r"User-agent:\x20*\n User-agent:\x20weft\n Allow:\x20 Disallow:\x20 Sitemap:\x20 Crawl-delay:\x20 /* $ "
            r"* % %41 %e4 \n \r # : /index.html \xef\xbb\xbf"
        ),
        b"9" * 40,
    ),
    grammar=grammar,
)
