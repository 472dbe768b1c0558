"""Gathering a text within bounds. In: pieces, from whoever reads a format. Out: one text that can be written anywhere,
and the reason why it ends early.

Whatever a content unpacks to, no more is kept than was asked for, and who gathers looks at the clock between two
pieces. What a single call into a library takes is bounded from outside: texts are made in a process with limits.

>>> into = Gathering(8, SystemClock().now() + 60)
>>> try:
...     into.add("one two three")
... except Stopped as stopped:
...     print(into.text(), stopped.reason)
one two cut
"""

from __future__ import annotations

from enum import StrEnum

from weft.clock import Clock, SystemClock


class Why(StrEnum):
    """Why a content has no text, or not all of it."""

    NO_EXTRACTOR = "no-extractor"
    NOT_INSTALLED = "not-installed"
    TOO_LARGE = "too-large"
    EXPANSION = "expansion"
    TIME = "time"
    TOO_DEEP = "too-deep"
    BROKEN = "broken"
    ENCRYPTED = "encrypted"
    NO_TEXT = "no-text"
    CUT = "cut"
    ENDED = "ended"


DOCS = {
    Why.NO_EXTRACTOR: "nothing that may be used here reads this format",
    Why.NOT_INSTALLED: "what reads this format is not installed: `pip install 'weft[text]'`",
    Why.TOO_LARGE: "the content is larger than the limit of its format",
    Why.EXPANSION: "it unpacks to more than the limit of its format; the text up to there is kept",
    Why.TIME: "it took longer than `text_seconds`; the text up to there is kept",
    Why.TOO_DEEP: "its tags are nested so deep that its main text would take too long: all its text stands for it",
    Why.BROKEN: "it is not as its format demands; the text up to there is kept",
    Why.ENCRYPTED: "it needs a password",
    Why.NO_TEXT: "there are no words in it",
    Why.CUT: "its text is longer than `text_bytes`",
    Why.ENDED: "it took far too long or too much memory, or ended the process that read it",
}
"""What each reason means."""


class Stopped(Exception):  # noqa: N818  it is how reading ends, not an error
    """A text ends here, for a reason."""

    def __init__(self, reason: Why) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Gathering:
    """A text as it grows, up to so many bytes in UTF-8, and until a moment of the clock."""

    def __init__(self, most: int, until: float, clock: Clock | None = None) -> None:
        self._pieces: list[str] = []
        self._left = most
        self._until = until
        self._clock = clock or SystemClock()

    def __repr__(self) -> str:
        return f"Gathering({len(self._pieces)} pieces, {self._left} bytes left)"

    def add(self, piece: str) -> None:
        """Take a piece; raises `Stopped` where the text is long enough, or its time is over."""
        if not piece:
            return
        encoded = piece.encode("utf-8", "replace")  # half of a pair cannot be written
        if len(encoded) > self._left:
            self._pieces.append(encoded[: self._left].decode("utf-8", "ignore"))
            self._left = 0
            raise Stopped(Why.CUT)
        self._left -= len(encoded)
        self._pieces.append(piece if piece.isascii() else encoded.decode())
        self.check()

    def check(self) -> None:
        """Raise `Stopped` where its time is over."""
        if self._clock.now() > self._until:
            raise Stopped(Why.TIME)

    def text(self) -> str:
        """What was gathered, with line ends as usual."""
        joined = "".join(self._pieces)
        if "\r" in joined:
            joined = joined.replace("\r\n", "\n").replace("\r", "\n")
        return joined.replace("\0", "").strip()
