r"""The words in the XML of office formats. In: XML, bit by bit. Out: what stands in the elements that hold words, with
line ends where the format has paragraphs.

Nothing is kept of the document but its words, so its size costs no memory. A document type may declare entities that
unpack without end; no office format has one, and a document that does is read no further.

>>> from weft.clock import SystemClock
>>> into = Gathering(100, SystemClock().now() + 60)
>>> read_words([b"<d><p>a<t>one</t><tab/><t>two</t></p></d>"], Words(holds={"t"}, before={"tab": "\t"}), into)
>>> into.text()
'one\ttwo'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Protocol
from xml.parsers import expat

from weft.text.gathering import Gathering, Stopped, Why

_MANY = 200  # pieces that are gathered at once


class Words(NamedTuple):
    """Where a format has its words, by names of elements without their prefix."""

    holds: AbstractSet[str]
    before: Mapping[str, str] = {}  # what such an element stands for
    behind: Mapping[str, str] = {}  # what its end stands for
    without: AbstractSet[str] = frozenset()  # elements in which nothing counts


class Listener(Protocol):
    """Is told what is in a document."""

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        ...

    def end(self, name: str) -> None:
        """It ends."""
        ...

    def words(self, text: str) -> None:
        """A text stands there."""
        ...


class _Reader:
    """Listens to the parser."""

    def __init__(self, words: Words, into: Gathering) -> None:
        self._words = words
        self._into = into
        self._pieces: list[str] = []
        self._held = 0  # elements that hold words, around us
        self._left_out = 0

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if name in self._words.without:
            self._left_out += 1
        if name in self._words.holds:
            self._held += 1
        stands = self._words.before.get(name)
        if stands is not None and not self._left_out:
            self._pieces.append(stands * _times(attributes) if stands == " " else stands)

    def end(self, name: str) -> None:
        if name in self._words.without:
            self._left_out -= 1
        if name in self._words.holds:
            self._held -= 1
        stands = self._words.behind.get(name)
        if stands is not None and not self._left_out:
            self._pieces.append(stands)
            if len(self._pieces) > _MANY:
                self.flush()

    def words(self, text: str) -> None:
        if self._held and not self._left_out:
            self._pieces.append(text)

    def flush(self) -> None:
        pieces, self._pieces = self._pieces, []
        self._into.add("".join(pieces))


def _times(attributes: dict[str, str]) -> int:
    """How often a blank stands there (`text:c`)."""
    written = attributes.get("text:c", "1")
    return min(int(written), 100) if written.isascii() and written.isdigit() else 1


def read_words(chunks: Iterable[bytes], words: Words, into: Gathering) -> None:
    """Gather the words of a document; `Stopped` where it is broken."""
    reader = _Reader(words, into)
    try:
        parse_events(chunks, reader)
    finally:
        reader.flush()


def parse_events(chunks: Iterable[bytes], listener: Listener) -> None:
    """Tell a listener what is in a document; `Stopped` where it is broken, or declares entities. Names of elements have
    no prefix.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: listener.begin(name.rpartition(":")[2], attributes)
    parser.EndElementHandler = lambda name: listener.end(name.rpartition(":")[2])
    parser.CharacterDataHandler = listener.words
    parser.EntityDeclHandler = _refuse
    try:
        for chunk in chunks:
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except (expat.ExpatError, ValueError, LookupError) as error:  # not well-formed; a charset that is unknown
        raise Stopped(Why.BROKEN) from error


def _refuse(*_entity: object) -> None:
    raise Stopped(Why.BROKEN)


class _Elements:
    """Listens for elements of some names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.found: list[dict[str, str]] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if name in self._names:
            self.found.append(attributes | {"": name})

    def end(self, name: str) -> None:
        """Nothing follows from it."""

    def words(self, text: str) -> None:
        """Nothing follows from it."""


def attributes_of(xml: bytes, *names: str) -> list[dict[str, str]]:
    """The attributes of all elements of these names, in their order; each has its name as `""`.

    >>> attributes_of(b"<a><o:b c='1'/></a>", "b")
    [{'c': '1', '': 'b'}]
    """
    listener = _Elements(names)
    parse_events([xml], listener)
    return listener.found
