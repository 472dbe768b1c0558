"""Stages: what else is found out about a page that was read. In: a page. Out: values for columns, rows of a table.

A stage is a value: a plain callable, with the columns of `pages` or the table of its own that it fills, its settings,
and whether it must run in a process apart. It is one file; the tuple of them is `weft.stages.STAGES`, and a crawl may
name further ones (`stage`). Whatever a stage does, its page has its row and its record: what it raises, or returns and
does not fit its columns, is a fault with its place, and the reason `stage`; where it runs apart, so is what takes too
long, takes too much memory, or ends its process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from weft.model import Column, Filled, Fills
from weft.settings import named
from weft.urls import normal_form

if TYPE_CHECKING:  # who only reads settings need not load what reads pages
    from weft.model import Page, Parsed, Turn
    from weft.parse.page import Parser


class ReadPage:
    """A page that was read, as stages see it."""

    def __init__(
        self, turn: Turn, page: Page, parsed: Parsed, parser: Parser, columns: Mapping[str, Any] | None = None
    ) -> None:
        self._turn = turn
        self._page = page
        self._parsed = parsed
        self._parser = parser
        self._columns = columns or {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.status} {self.url})"

    @property
    def url(self) -> str:
        """Its URL, in normal form."""
        return self._turn.url

    @property
    def method(self) -> str:
        """How it was asked for: GET or POST."""
        return "POST" if self._page.request.startswith(b"POST ") else "GET"

    @property
    def depth(self) -> int:
        """How many links, or requests, it is away from a seed."""
        return self._turn.depth

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self._page.status

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer, by their names in lower case; values of repeated ones are joined by a comma."""
        return self._page.headers

    @property
    def title(self) -> str:
        """Its title, "" where it has none."""
        return self._parsed.title

    @property
    def type(self) -> str:
        """Its media type, by what it is more than by what the server says."""
        return self._parsed.type

    @property
    def language(self) -> str:
        """The language that it declares, "" where it declares none."""
        return self._parsed.language

    @property
    def link_count(self) -> int:
        """How many links it has, also of those that are not followed."""
        return len(self._parsed.links) + len(self._parsed.nofollow) + self._parsed.left_out

    @property
    def charset(self) -> str:
        """The charset of its text, "" where it is no text."""
        return self._parsed.charset

    @property
    def columns(self) -> Mapping[str, Any]:
        """What stages found out about it so far, by the names of their columns."""
        return self._columns

    def with_columns(self, columns: Mapping[str, Any]) -> ReadPage:
        """The same page, with what stages found out about it."""
        return ReadPage(self._turn, self._page, self._parsed, self._parser, columns)

    # Properties that stand on cached ones: `help` shows these only.

    @property
    def body(self) -> bytes:
        """The content, its content coding undone."""
        return self._body

    @property
    def text(self) -> str:
        """The content as text, by its charset."""
        return self._text

    @property
    def links(self) -> list[str]:
        """Where its links lead, in normal form, each once, in their order on the page; none where it asks that they not
        be followed.
        """
        return self._links

    @property
    def link_texts(self) -> dict[str, str]:
        """What the links say, by where they lead: of several the first that says something; where `link_text` is
        set.
        """
        return self._link_texts

    @cached_property
    def _body(self) -> bytes:
        return self._parser.content(self._page)[0]

    @cached_property
    def _text(self) -> str:
        return self.body.decode(self._parsed.charset or "utf-8", "replace")

    @cached_property
    def _links(self) -> list[str]:
        if not self._parsed.follow:
            return []
        found = (normal_form(written, self._parsed.base) for written, _ in self._parsed.links)
        return list(dict.fromkeys(url for url in found if type(url) is str))

    @cached_property
    def _link_texts(self) -> dict[str, str]:
        said: dict[str, str] = {}
        for (written, _), (text, _) in zip(self._parsed.links, self._parsed.labels, strict=False):
            url = normal_form(written, self._parsed.base) if text else None
            if type(url) is str:
                said.setdefault(url, text)
        return said


Result = Filled | Mapping[str, Any] | list[tuple[Any, ...]] | None
"""What a stage may return: a mapping is values, a list is rows, None is nothing."""
Run = Callable[[ReadPage], Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage: what it is called, what it fills, and how. Its name is that of its table, too: `stage-NAME`."""

    name: str
    doc: str  # what it finds out, for the reference
    run: Callable[..., Any] | None = (
        None  # looks at a page: a `Run`, but for those of weft's own, which say what they are
    )
    columns: tuple[Column, ...] = ()  # of `pages`
    table: tuple[Column, ...] = ()  # its own one, behind the id of the page
    apart: bool = False  # in a process with limits
    ended: Mapping[str, Any] | None = None  # what it says of a page that ended that process; None: that is a fault
    settings: type | None = None  # a section of settings: each is a setting of the crawl, under [stages]
    make: Callable[[Any], Run] | None = None  # what looks at a page under these settings, in place of `run`
    wanted: Callable[[Any], bool] = lambda _settings: True  # under these settings, does it run at all?
    own: bool = False  # it is called by the crawl itself, at its own place

    @property
    def fills(self) -> Fills:
        """What it fills, for whoever writes that."""
        return Fills(self.name, self.columns, self.table)

    @property
    def called(self) -> Callable[..., Any]:
        """One of weft's own: what is called in its place."""
        assert self.run is not None, self.name
        return self.run

    def runner(self, settings: Any) -> Run:
        """What looks at a page, under these settings."""
        made = self.make(settings) if self.make is not None else self.run
        assert made is not None, self.name
        return made


def filled(result: Any) -> Filled:
    """What a stage returned, in one form; what it cannot be is an error.

    >>> filled({"words": 3}).values, filled([("a", 1)]).rows
    ({'words': 3}, [('a', 1)])
    """
    if result is None:
        return Filled()
    if isinstance(result, Filled):
        return result
    if isinstance(result, Mapping):
        return Filled(dict(result))
    if isinstance(result, list):
        return Filled(rows=[tuple(row) for row in result])
    raise TypeError(f"a stage returns values by column, a list of rows, or None; not {type(result).__name__}")


def stage_named(name: str) -> Stage:
    """The stage of a name: module:NAME."""
    found = named(name, "the stage")
    if not isinstance(found, Stage):
        raise TypeError(f"{name} is not a weft.Stage")
    return found
