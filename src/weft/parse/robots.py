r"""robots.txt as webmasters test it. In: its bytes and our product token. Out: may we fetch a path, and why.

The Robots Exclusion Protocol (RFC 9309) read the way Google's open-source parser and matcher reads it,
because that is what rules are written for and tried with; where the two differ, Google's way is taken. No
bytes are refused: what is not understood is skipped, and a file of nothing but such lines allows everything.

Reading a file
    Lines end with CR, LF or both; a UTF-8 byte order mark, or the beginning of one, is skipped; a line ends
    at a NUL and at 16,663 bytes. ``#`` begins a comment. Key and value are parted by a colon, or by blanks
    where there is no colon and there are exactly two words. Keys are known by how they begin, in any case, a
    few misspellings included.
Choosing rules
    ``User-agent`` lines open a group, a rule closes the list of its agents; other lines do neither. A group
    is ours when the letters, ``-`` and ``_`` at the start of its name equal our token. Rules of all our
    groups are put together; only a file without any falls back to the groups of ``*``.
Matching a path
    ``*`` is any text, ``$`` at the end of a pattern is the end of the path, anything else is itself;
    non-ASCII octets of a pattern are percent-encoded and its triplets written in upper case, as in the normal
    form of URLs. The longest pattern that matches decides, allowing on a tie. ``Allow: /a/index.html`` also
    allows exactly ``/a/``.

One addition: the normal form of URLs decodes triplets such as ``%7E``, so a pattern that has them is also
tried decoded (RFC 9309, section 2.2.2), or a link that the webmaster forbade as he wrote it would slip
through.

Invariant: reading is linear in the file; a check costs one binary search among the plain prefixes and at most
a few substring searches for each pattern with a wildcard, whatever the pattern.

>>> body = b"User-agent: *\nDisallow: /private/\nAllow: /private/*.html$\nCrawl-delay: 5"
>>> robots = parse_robots(body, "weft")
>>> robots.allows("/private/a.txt"), robots.allows("/private/a.html"), robots.allows("/")
(False, True, True)
>>> robots.verdict("/private/")
Verdict(allowed=False, rule='Disallow: /private/', line=2)
>>> robots.crawl_delay
5.0
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

READ_AT_LEAST = 512_000
"""Bytes of a robots.txt that must be read (RFC 9309). The parser takes more; who fetches may cut here."""

_LONGEST_LINE = 2083 * 8 - 1
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Rule(NamedTuple):
    """One ``Allow`` or ``Disallow`` line of the groups that apply."""

    allow: bool
    pattern: str
    line: int
    written: str

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.written}"


class Verdict(NamedTuple):
    """Whether a path may be fetched, and the rule that decided with its line; None where no rule matched."""

    allowed: bool
    rule: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Robots:
    """What a robots.txt says to one agent. Pickled as its rules; equal bytes always give an equal value."""

    rules: tuple[Rule, ...] = ()
    crawl_delay: float | None = None
    sitemaps: tuple[str, ...] = ()
    _matcher: _Matcher | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        closed = any(not rule.allow and rule.pattern for rule in self.rules)
        object.__setattr__(self, "_matcher", _Matcher(self.rules) if closed else None)

    def __reduce__(self) -> tuple[type[Robots], tuple[tuple[Rule, ...], float | None, tuple[str, ...]]]:
        return Robots, (self.rules, self.crawl_delay, self.sitemaps)

    def allows(self, path: str) -> bool:
        """Whether a path with its query (`weft.urls.target_of` a URL in normal form) may be fetched."""
        if self._matcher is None:
            return True
        rule = self._matcher.decide(path)
        return rule is None or rule.allow

    def verdict(self, path: str) -> Verdict:
        """The same answer with the rule that gave it."""
        # A file without a closing rule has no matcher; its allowing rules are looked through for the answer's
        # sake.
        matcher = self._matcher or _Matcher(self.rules)
        rule = matcher.decide(path)
        if rule is None:
            return Verdict(allowed=True, rule=None, line=None)
        return Verdict(rule.allow, str(rule), rule.line)


def parse_robots(body: bytes, agent: str) -> Robots:
    """What a robots.txt says to the agent with this product token (letters, ``-`` and ``_``; no version).

    A crawl delay is that of our own groups, or where they have none that of ``*``; the largest of several.
    Sitemaps are the file's, whatever the group; they may be relative.

    >>> parse_robots(b"<html><body>Not found</body></html>", "weft") == ALLOW_ALL
    True
    """
    reader = _Reader(agent)
    for line, kind, value in _records(body):
        reader.read(line, kind, value)
    return reader.robots()


def path_of(url: str) -> str:
    """The path with parameters and query of a URL or path, cut out as Google does: nothing is decoded.

    >>> path_of("https://example.org/a;b?c#d"), path_of("/a?b"), path_of("https://example.org?q")
    ('/a;b?c', '/a?b', '/?q')
    """
    start = 2 if url.startswith("//") else 0
    scheme = url.find("://", start)
    if scheme >= 0 and not _path_start(url, start, scheme):
        start = scheme + 3
    found = _path_start(url, start, len(url))
    if not found:
        return "/"
    fragment = url.find("#")
    if fragment >= 0 and fragment < found.start():
        return "/"
    path = url[found.start() :] if fragment < 0 else url[found.start() : fragment]
    return path if path[0] == "/" else "/" + path


_path_start = re.compile("[/?;]").search


class _Kind(Enum):
    """What a line is about."""

    AGENT = auto()
    ALLOW = auto()
    DISALLOW = auto()
    SITEMAP = auto()
    DELAY = auto()


# Keys are known by how they begin, the misspellings that Google's parser takes included. The last row is no
# business of Google's; it does not touch groups there, nor here.
_KEYS = {
    _Kind.AGENT: (b"user-agent", b"useragent", b"user agent"),
    _Kind.ALLOW: (b"allow",),
    _Kind.DISALLOW: (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"),
    _Kind.SITEMAP: (b"sitemap", b"site-map"),
    _Kind.DELAY: (b"crawl-delay", b"crawldelay", b"crawl delay"),
}
_LONGEST_KEY = 11


@lru_cache(maxsize=1024)
def _kind(key: bytes) -> _Kind | None:
    """What a key (its beginning, in lower case) means."""
    return next((kind for kind, starts in _KEYS.items() if key.startswith(starts)), None)


def _records(body: bytes) -> Iterator[tuple[int, _Kind, bytes]]:
    """The lines that mean something, with their numbers and values."""
    mark = 0
    while mark < 3 and body[mark : mark + 1] == _BYTE_ORDER_MARK[mark : mark + 1]:
        mark += 1
    for number, raw in enumerate(body[mark:].splitlines(), 1):
        if not raw:
            continue
        line = raw[:_LONGEST_LINE] if len(raw) > _LONGEST_LINE else raw
        if b"\0" in line:
            line = line[: line.index(b"\0")]
        if b"#" in line:
            line = line[: line.index(b"#")]
        key, colon, value = line.partition(b":")
        if not colon:
            words = line.strip().replace(b"\t", b" ").partition(b" ")
            key, value = words[0], words[2].lstrip(b" ")
            if not value or b" " in value:
                continue
        key = key.strip()
        kind = _kind(key[:_LONGEST_KEY].lower())
        if kind is _Kind.SITEMAP and key[-5:].lower() in {b" http", b"https"}:
            value = key.split()[-1] + b":" + value  # "Sitemap https://…": the only colon is the URL's own
        if kind is not None:
            yield number, kind, value.strip()


_product = re.compile(rb"[A-Za-z_-]*")
_delay = re.compile(rb"\d+(?:\.\d*)?|\.\d+")
_to_escape = re.compile(r"%[0-9A-Fa-f]{2}|[\x80-\xff]")


class _Reader:
    """Follows the groups of a file for one agent; a transcript of Google's matcher without the path."""

    def __init__(self, agent: str) -> None:
        self._agent = agent.encode("utf-8", "surrogatepass").lower()
        self._ours_named = self._all_named = False
        self._ever_ours = False
        self._agents_closed = False
        self._for_us: list[Rule] = []
        self._for_all: list[Rule] = []
        self._our_delay: float | None = None
        self._delay_for_all: float | None = None
        self._sitemaps: dict[str, None] = {}

    def read(self, line: int, kind: _Kind, value: bytes) -> None:
        """Take in the next record."""
        if kind is _Kind.AGENT:
            self._name(value)
        elif kind is _Kind.SITEMAP:
            if value:
                self._sitemaps[value.decode("utf-8", "replace")] = None
        elif not (self._ours_named or self._all_named):
            return
        elif kind is _Kind.DELAY:
            self._slow_down(value)
        else:
            self._agents_closed = True
            (self._for_us if self._ours_named else self._for_all).append(_rule(line, kind, value))

    def robots(self) -> Robots:
        """What was found."""
        return Robots(
            rules=tuple(self._for_us if self._ever_ours else self._for_all),
            crawl_delay=self._delay_for_all if self._our_delay is None else self._our_delay,
            sitemaps=tuple(self._sitemaps),
        )

    def _name(self, value: bytes) -> None:
        if self._agents_closed:
            self._ours_named = self._all_named = self._agents_closed = False
        # "* and more words" still means everybody.
        if value[:1] == b"*" and (len(value) == 1 or value[1:2].isspace()):
            self._all_named = True
        elif (product := _product.match(value)) and product[0].lower() == self._agent:
            self._ours_named = self._ever_ours = True

    def _slow_down(self, value: bytes) -> None:
        found = _delay.match(value)
        seconds = float(found[0]) if found else math.inf
        if not math.isfinite(seconds):
            return
        if self._ours_named:
            self._our_delay = max(seconds, self._our_delay or 0.0)
        if self._all_named:
            self._delay_for_all = max(seconds, self._delay_for_all or 0.0)


def _rule(line: int, kind: _Kind, value: bytes) -> Rule:
    """A rule with its pattern in the form that paths have."""
    pattern = written = value.decode("latin-1")
    if not value.isascii():
        written = value.decode("utf-8", "replace")
    if "%" in pattern or not value.isascii():
        pattern = _to_escape.sub(_escaped, pattern)
    return Rule(kind is _Kind.ALLOW, pattern, line, written)


def _escaped(match: re.Match[str]) -> str:
    text = match[0]
    return text.upper() if len(text) == 3 else f"%{ord(text):02X}"


_unreserved = re.compile(r"%(2[DE]|3[0-9]|[46][1-9A-F]|[57][0-9A]|5F|7E)")


class _Glob(NamedTuple):
    """A pattern with a wildcard or an end mark, cut at its stars."""

    head: str  # the path begins with it
    parts: tuple[str, ...]  # and has these in this order after it
    tail: str | None  # and ends with this after them; None where the pattern has no end mark
    whole: bool  # no star at all: the head is the path

    def matches(self, path: str) -> bool:
        """Whether the path fits. A part's first place is as good as any later one: nothing is tried twice."""
        if self.whole:
            return path == self.head
        if not path.startswith(self.head):
            return False
        position, end = len(self.head), len(path)
        if self.tail is not None:
            end -= len(self.tail)
            if end < position or not path.endswith(self.tail):
                return False
        for part in self.parts:
            position = path.find(part, position, end)
            if position < 0:
                return False
            position += len(part)
        return True


class _Matcher:
    """Rules made ready for checks: plain prefixes in a sorted list, the rest in order of precedence.

    A prefix decides before a shorter one, so that among the plain prefixes only the longest that fits
    matters. In sorted order it is the entry before the path's own place, or the nearest of that entry's own
    prefixes.
    """

    __slots__ = ("_best", "_globs", "_parents", "_starts")

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        plain: dict[str, tuple[int, Rule]] = {}
        globs: dict[tuple[str, bool], tuple[str, int, _Glob, Rule]] = {}
        for pattern, rule in _all_patterns(rules):
            # Twice the length, and one more to win a tie.
            rank = 2 * len(pattern) + rule.allow
            glob = _cut(pattern)
            if isinstance(glob, str):
                if glob not in plain or plain[glob][0] < rank:
                    plain[glob] = (rank, rule)
            elif (pattern, rule.allow) not in globs:
                needle = max((*glob.parts, glob.tail or "", glob.head), key=len)
                globs[pattern, rule.allow] = (needle, rank, glob, rule)
        self._globs = sorted(globs.values(), key=lambda entry: -entry[1])
        self._starts = sorted(plain)
        self._parents: list[int] = []
        self._best: list[tuple[int, Rule]] = []
        for index, start in enumerate(self._starts):
            parent = index - 1
            while parent >= 0 and not start.startswith(self._starts[parent]):
                parent = self._parents[parent]
            self._parents.append(parent)
            here = plain[start]
            self._best.append(here if parent < 0 or here[0] > self._best[parent][0] else self._best[parent])

    def decide(self, path: str) -> Rule | None:
        """The rule that decides about a path."""
        starts = self._starts
        index = bisect_right(starts, path) - 1
        while index >= 0 and not path.startswith(starts[index]):
            index = self._parents[index]
        best, decided = self._best[index] if index >= 0 else (0, None)
        for needle, rank, glob, rule in self._globs:
            if rank <= best:
                break
            if needle in path and glob.matches(path):
                return rule
        return decided


def _all_patterns(rules: tuple[Rule, ...]) -> Iterator[tuple[str, Rule]]:
    """The patterns that rules stand for. Empty ones stand for nothing."""
    for rule in rules:
        if not rule.pattern:
            continue
        yield rule.pattern, rule
        if "%" in rule.pattern:
            decoded = _unreserved.sub(lambda match: chr(int(match[1], 16)), rule.pattern)
            if decoded != rule.pattern:
                yield decoded, rule
        if rule.allow:
            folder = rule.pattern[: rule.pattern.rfind("/") + 1]
            if folder and rule.pattern.startswith("/index.htm", len(folder) - 1):
                yield folder + "$", rule


def _cut(pattern: str) -> str | _Glob:
    """A pattern as a plain prefix where it is one, else cut at its stars."""
    ends = pattern[-1] == "$"
    body = pattern[:-1] if ends else pattern
    open_end = body.rstrip("*")
    if "*" not in open_end and (not ends or open_end != body):
        return open_end
    head, *rest = body.split("*")
    if not rest:
        return _Glob(head, (), None, whole=True)
    tail = rest.pop() if ends else None
    return _Glob(head, tuple(filter(None, rest)), tail, whole=False)


ALLOW_ALL = Robots()
DISALLOW_ALL = Robots((Rule(allow=False, pattern="/", line=0, written="/"),))
