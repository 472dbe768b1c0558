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

Invariant: reading is linear in the file; one of more than 16 kB is read by compiled code (`robots_table`). A check
takes less than a millisecond, whatever the file and the path: it looks the beginnings of the path up among the plain
prefixes, and patterns with wildcards are tried for so long and no longer. What cannot be decided within that is
disallowed, and so is everything in a file of more than 10,000 patterns with wildcards; of two thousand real files the
one with most has 412.

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

import dataclasses
import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, overload

if TYPE_CHECKING:
    from weft.parse.globs import Globs
    from weft.parse.robots_table import Table

READ_AT_LEAST = 512_000
"""Bytes of a robots.txt that must be read (RFC 9309). The parser takes more; who fetches may cut here."""

LARGE = 16_000  # bytes of a file that compiled code reads: a smaller one takes 10 ms at most, whatever is in it
_LONGEST_LINE = 2083 * 8 - 1
_MOST_GLOBS = 10_000  # patterns with wildcards, each of which takes microseconds to be made ready
_MOST_TRIED_PLAINLY = 1_000  # characters of such patterns that are tried one by one: 0.5 ms at most, as measured
_ROBOTS, _RULE, _TEXT = 500, 300, 60  # bytes of memory that a file, a rule and a text take; as measured
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


class LargeRules(Sequence[Rule]):
    """The rules of a large file: each is made when it is asked for."""

    __slots__ = ("_made", "table")

    def __init__(self, table: Table) -> None:
        self.table = table
        self._made: tuple[Rule, ...] | None = None

    def __repr__(self) -> str:
        return f"LargeRules({len(self)})"

    @property
    def _all(self) -> tuple[Rule, ...]:
        if self._made is None:
            self._made = tuple(_made(*rule) for rule in self.table.rules())
        return self._made

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, place: int) -> Rule: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Rule]: ...
    def __getitem__(self, place: int | slice) -> Rule | Sequence[Rule]:
        return self._all[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all)

    def decide(self, path: str) -> Rule | None:
        """The rule that decides about a path."""
        found = self.table.decide(path)
        if found is None:
            return None
        return _TOO_MUCH if isinstance(found, int) else _made(*found)


@dataclass(frozen=True, slots=True)
class Robots:
    """What a robots.txt says to one agent. Pickled as its rules; equal bytes always give an equal value."""

    rules: Sequence[Rule] = ()
    crawl_delay: float | None = None
    sitemaps: tuple[str, ...] = ()
    _matcher: _Matcher | LargeRules | None = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        matcher: _Matcher | LargeRules | None = None
        if isinstance(self.rules, LargeRules):
            matcher = self.rules if self.rules.table.closed else None
        elif any(not rule.allow and rule.pattern for rule in self.rules):
            matcher = _Matcher(self.rules)
        object.__setattr__(self, "_matcher", matcher)

    def __reduce__(self) -> tuple[type[Robots], tuple[tuple[Rule, ...], float | None, tuple[str, ...]]]:
        return Robots, (tuple(self.rules), self.crawl_delay, self.sitemaps)

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        rules = self.rules.table.size if isinstance(self.rules, LargeRules) else _RULE * len(self.rules)
        return _ROBOTS + rules + sum(map(len, self.sitemaps)) + _TEXT * len(self.sitemaps)

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
        matcher = self._matcher or (self.rules if isinstance(self.rules, LargeRules) else _Matcher(self.rules))
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
    if len(body) > LARGE:
        return parse_large(body, agent)
    reader = _Reader(agent)
    for line, field, value in _records(body):
        reader.read(line, field, value)
    return reader.robots()


def parse_large(body: bytes, agent: str) -> Robots:
    """The same for a file of any size: a millisecond more for the first, and a few nanoseconds a byte."""
    from weft.parse.robots_table import Table, rules_of, scanned, sitemaps_of  # compiled: it takes long to bring in

    body = body[_mark(body) :]
    found = scanned(body, _token(agent))
    rules: Sequence[Rule]
    try:
        rules = LargeRules(Table(body, rules_of(found), _MOST_GLOBS))
    except OverflowError:
        rules = (_TOO_MANY,)
    return Robots(rules, found.delay, sitemaps_of(body, found))


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


class _Field(Enum):
    """What a line is about."""

    AGENT = auto()
    ALLOW = auto()
    DISALLOW = auto()
    SITEMAP = auto()
    DELAY = auto()


# Keys are known by how they begin, the misspellings that Google's parser takes included. The last row is no
# business of Google's; it does not touch groups there, nor here.
_KEYS = {
    _Field.AGENT: (b"user-agent", b"useragent", b"user agent"),
    _Field.ALLOW: (b"allow",),
    _Field.DISALLOW: (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"),
    _Field.SITEMAP: (b"sitemap", b"site-map"),
    _Field.DELAY: (b"crawl-delay", b"crawldelay", b"crawl delay"),
}
_LONGEST_KEY = 11
_MOST_KEYS = 100  # ways to write them in one file that are remembered


@lru_cache(maxsize=1024)
def _field(key: bytes) -> _Field | None:
    """What a key (its beginning, in lower case) means."""
    return next((field for field, starts in _KEYS.items() if key.startswith(starts)), None)


def _records(body: bytes) -> Iterator[tuple[int, _Field, bytes]]:
    """The lines that mean something, with their numbers and values."""
    body = body[_mark(body) :]
    number, counted, returns = 1, 0, b"\r" in body
    fields: dict[bytes, _Field] = {}  # keys as they are written in this file
    for found in _MEANINGFUL.finditer(body):
        begin = found.start()
        number += body.count(b"\n", counted, begin)
        if returns:
            number += body.count(b"\r", counted, begin) - body.count(b"\r\n", counted, begin)
        counted = begin
        line = found[0]
        if b"#" in line or b"\0" in line or len(line) > _LONGEST_LINE:
            line = line[:_LONGEST_LINE].partition(b"\0")[0].partition(b"#")[0]
        key, colon, value = line.partition(b":")
        field = fields.get(key) if colon else None
        if field is None:
            field, value = _read_key(key, colon, value)
            if field is None:
                continue
            if field is not _Field.SITEMAP and colon and len(fields) < _MOST_KEYS:
                fields[key] = field
        yield number, field, value.strip()


def _mark(body: bytes) -> int:
    """How many bytes of a byte order mark a file begins with."""
    mark = 0
    while mark < 3 and body[mark : mark + 1] == _BYTE_ORDER_MARK[mark : mark + 1]:
        mark += 1
    return mark


def _token(agent: str) -> bytes:
    return agent.encode("utf-8", "surrogatepass").lower()


def _read_key(key: bytes, colon: bytes, value: bytes) -> tuple[_Field | None, bytes]:
    """What a line is about that is parted at its colon, and its value."""
    if not colon:
        words = key.strip().replace(b"\t", b" ").partition(b" ")
        key, value = words[0], words[2].lstrip(b" ")
        if not value or b" " in value:
            return None, b""
    key = key.strip()
    field = _field(key[:_LONGEST_KEY].lower())
    if field is _Field.SITEMAP and key[-5:].lower() in {b" http", b"https"}:
        value = key.split()[-1] + b":" + value  # "Sitemap https://…": the only colon is the URL's own
    return field, value


# Lines that begin like one of the keys; others mean nothing.
_MEANINGFUL = re.compile(rb"(?i)(?<![^\r\n])[ \t\v\f]*+(?:user|allow|dis|dias|site|crawl)[^\r\n]*+")


_product = re.compile(rb"[A-Za-z_-]*")
_delay = re.compile(rb"\d+(?:\.\d*)?|\.\d+")
_to_escape = re.compile(r"%[0-9A-Fa-f]{2}|[\x80-\xff]")


class _Reader:
    """Follows the groups of a file for one agent; a transcript of Google's matcher without the path."""

    def __init__(self, agent: str) -> None:
        self._agent = _token(agent)
        self._ours_named = self._all_named = False
        self._ever_ours = False
        self._agents_closed = False
        self._for_us: list[Rule] = []
        self._for_all: list[Rule] = []
        self._our_delay: float | None = None
        self._delay_for_all: float | None = None
        self._sitemaps: dict[str, None] = {}

    def read(self, line: int, field: _Field, value: bytes) -> None:
        """Take in the next record."""
        if field is _Field.DISALLOW or field is _Field.ALLOW:
            if self._ours_named or self._all_named:
                self._agents_closed = True
                rules = self._for_us if self._ours_named else self._for_all
                rules.append(_made(field is _Field.ALLOW, value, line))
        elif field is _Field.AGENT:
            self._name(value)
        elif field is _Field.SITEMAP:
            if value:
                self._sitemaps[value.decode("utf-8", "replace")] = None
        elif self._ours_named or self._all_named:
            self._slow_down(value)

    def robots(self) -> Robots:
        """What was found."""
        rules = self._for_us if self._ever_ours else self._for_all
        if sum("*" in rule.pattern or "$" in rule.pattern for rule in rules) > _MOST_GLOBS:
            rules = [_TOO_MANY]
        return Robots(
            rules=tuple(rules),
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


def _made(allow: bool, value: bytes, line: int) -> Rule:
    """A rule with its pattern in the form that paths have."""
    pattern = written = value.decode("latin-1")
    if "%" in pattern or not value.isascii():
        written = value.decode("utf-8", "replace")
        pattern = _to_escape.sub(_escaped, pattern)
    return Rule(allow, pattern, line, written)


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
    """Rules made ready for checks: plain prefixes by their text, the rest in order of precedence.

    A prefix decides before a shorter one, so that among the plain prefixes only the longest that fits matters, unless
    stars at the end of a pattern make it longer than its prefix.
    """

    __slots__ = ("_globs", "_heavy", "_lengths", "_plain", "_starred")

    def __init__(self, rules: Sequence[Rule]) -> None:
        plain: dict[str, tuple[int, Rule]] = {}
        globs: dict[tuple[str, bool], tuple[str, int, _Glob, Rule]] = {}
        for pattern, rule in _all_patterns(rules):
            # Twice the length, and one more to win a tie.
            rank = 2 * len(pattern) + rule.allow
            glob = pattern if "*" not in pattern and pattern[-1] != "$" else _cut(pattern)
            if isinstance(glob, str):
                if glob not in plain or plain[glob][0] < rank:
                    plain[glob] = (rank, rule)
            elif (pattern, rule.allow) not in globs:
                needle = max((*glob.parts, glob.tail or "", glob.head), key=len)
                globs[pattern, rule.allow] = (needle, rank, glob, rule)
        self._plain = plain
        self._starred = any(rank >> 1 > len(start) for start, (rank, _) in plain.items())
        self._lengths = sorted(set(map(len, plain)), reverse=True)
        self._globs = sorted(globs.values(), key=lambda entry: -entry[1])
        self._heavy: Globs | None = None
        if sum(len(pattern) for pattern, _ in globs) > _MOST_TRIED_PLAINLY:
            from weft.parse.globs import Globs  # it is compiled, which takes long to bring in, and seldom needed

            self._heavy = Globs([(glob.head, glob.parts, glob.tail, glob.whole) for _, _, glob, _ in self._globs])

    def decide(self, path: str) -> Rule | None:
        """The rule that decides about a path."""
        best, decided = 0, None
        plain = self._plain
        for length in self._lengths:
            if length <= len(path) and (found := plain.get(path[:length])) is not None and found[0] > best:
                best, decided = found
                if not self._starred:
                    break
        if self._heavy is not None:
            return self._decide_heavy(self._heavy, path, best, decided)
        for needle, rank, glob, rule in self._globs:
            if rank <= best:
                break
            if needle in path and glob.matches(path):
                return rule
        return decided

    def _decide_heavy(self, heavy: Globs, path: str, best: int, decided: Rule | None) -> Rule | None:
        most = len(self._globs) if best == 0 else bisect_left(self._globs, -best, key=lambda entry: -entry[1])
        found = heavy.first(path, most)
        if found < -1:
            return _TOO_MUCH
        return decided if found < 0 else self._globs[found][3]


def _all_patterns(rules: Sequence[Rule]) -> Iterator[tuple[str, Rule]]:
    """The patterns that rules stand for. Empty ones stand for nothing."""
    for rule in rules:
        pattern = rule.pattern
        if not pattern:
            continue
        yield pattern, rule
        if "%" in pattern:
            decoded = _unreserved.sub(lambda match: chr(int(match[1], 16)), pattern)
            if decoded != pattern:
                yield decoded, rule
        if rule.allow:
            folder = pattern[: pattern.rfind("/") + 1]
            if folder and pattern.startswith("/index.htm", len(folder) - 1):
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


_TOO_MUCH = Rule(allow=False, pattern="/", line=0, written="/ (its patterns take too long to be tried)")
_TOO_MANY = Rule(allow=False, pattern="/", line=0, written="/ (it has more patterns than are tried)")
ALLOW_ALL = Robots()
