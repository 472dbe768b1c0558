"""What a focused crawl is about, in words. In: `domain:pt or (language:pt and linked-from:pt)`. Out: a criterion.

A term is a name and a value, `keyword:porto`; several values are separated by commas, and one of them is enough. A
value with blanks or parentheses stands in quotes: `keyword:"vinho verde",porto`. Terms are joined by `and`, `or`,
`not` and parentheses; `and` binds closer than `or`.

>>> from weft.applications.criteria import Seen
>>> about = criterion_of('domain:pt and not keyword:"a ship",boat*')
>>> [about(Seen("http://a.pt/", words=words)) >= 0.5 for words in ("a  ship", "Boats", "sheep")]
[False, False, True]
"""

from __future__ import annotations

import re
from collections.abc import Callable

from weft.applications import criteria
from weft.applications.criteria import Criterion
from weft.errors import UsageError

TERMS: dict[str, Callable[[list[str]], Criterion]] = {
    "domain": lambda values: criteria.domains(*values),
    "language": lambda values: criteria.languages(*values),
    "keyword": lambda values: criteria.keywords(*values),
    "linked-from": lambda values: criteria.linked_from(*values),
    "model": lambda values: criteria.either(*map(criteria.model, values)),
    "function": lambda values: criteria.either(*map(criteria.function, values)),
    "pattern": lambda values: criteria.pattern(",".join(values)),
}
"""What a term may be called, and what it makes of its values."""

_token = re.compile(r"""\s*(?:([()])|((?:"[^"]*"|[^\s()"])+))""")
_value = re.compile(r'((?:"[^"]*"|[^",])+)')


def criterion_of(written: str) -> Criterion:
    """The criterion that is written."""
    reader = _Reader(written)
    found = reader.any_of()
    if reader.next:
        raise reader.mistake(f"{reader.next!r} is not expected here")
    return found


class _Reader:
    """Reads what is written from left to right."""

    def __init__(self, written: str) -> None:
        self._written = written
        self._tokens = [parenthesis or word for parenthesis, word in _token.findall(written)]
        self._at = 0
        if written.count('"') % 2:
            raise self.mistake("a quotation mark is missing")

    def __repr__(self) -> str:
        return f"_Reader({self._written!r} at {self._at})"

    @property
    def next(self) -> str:
        """What comes next; "" at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def any_of(self) -> Criterion:
        """Some, with `or` between them."""
        found = [self._all_of()]
        while self._skip("or"):
            found.append(self._all_of())
        return found[0] if len(found) == 1 else criteria.either(*found)

    def _all_of(self) -> Criterion:
        """Some, with `and` between them."""
        found = [self._one()]
        while self._skip("and"):
            found.append(self._one())
        return found[0] if len(found) == 1 else criteria.both(*found)

    def _one(self) -> Criterion:
        """A term, what is in parentheses, or the opposite of one of them."""
        if self._skip("not"):
            return criteria.opposite(self._one())
        if self._skip("("):
            found = self.any_of()
            if not self._skip(")"):
                raise self.mistake("a closing parenthesis is missing")
            return found
        name, colon, rest = self.next.partition(":")
        values = [value.replace('"', "").strip() for value in _value.findall(rest)]
        if not colon or name not in TERMS or not any(values):
            said = f"{self.next!r} is no term" if self.next else "something is missing at the end"
            raise self.mistake(said)
        self._at += 1
        return TERMS[name](values)

    def _skip(self, token: str) -> bool:
        if self.next != token:
            return False
        self._at += 1
        return True

    def mistake(self, what: str) -> UsageError:
        """What to say of something that cannot be read."""
        return UsageError(
            what,
            where=f"about={self._written}",
            todo=f"write NAME:VALUE, of {', '.join(TERMS)}, and join them by and, or, not and parentheses",
        )
