"""The text of e-mail and of pages kept as one (eml, mhtml). In: a message. Out: who wrote to whom about what, and its
words; attachments that are no text are left out.
"""

from __future__ import annotations

from email import message_from_bytes
from email.message import Message
from email.policy import default
from typing import Any

from weft.text.gathering import Gathering, Stopped, Why
from weft.text.html import whole_text
from weft.text.plain import decoded

_HEADERS = ("Subject", "From", "To", "Cc", "Date")
_DEEPEST = 20  # messages in messages, and parts in parts


def read_mail(body: bytes, _charset: str, into: Gathering) -> None:
    """A message, and those in it."""
    message: Any = message_from_bytes(body, policy=default)
    if not message.keys():
        raise Stopped(Why.BROKEN)
    _read_headers(message, into)
    _read_part(message, into, _DEEPEST)


def _read_headers(message: Message, into: Gathering) -> None:
    for name in _HEADERS:
        said = message.get(name)
        if said is not None:
            into.add(f"{name}: {said}\n")
    into.add("\n")


def _read_part(part: Message, into: Gathering, deeper: int) -> None:
    into.check()
    if deeper == 0:
        raise Stopped(Why.TOO_DEEP)
    kind = part.get_content_type()
    if part.is_multipart():
        within: list[Any] = [each for each in part.get_payload() if isinstance(each, Message)]
        for each in _best(within) if kind == "multipart/alternative" else within:
            if kind == "message/rfc822":
                _read_headers(each, into)
            _read_part(each, into, deeper - 1)
    elif kind in ("text/plain", "text/html"):
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        words = decoded(payload, part.get_content_charset() or "")
        into.add((whole_text(words) if kind == "text/html" else words) + "\n\n")


def _best(parts: list[Any]) -> list[Any]:
    """Of the same in several forms: the plainest."""
    for kind in ("text/plain", "text/html"):
        found = [part for part in parts if part.get_content_type() == kind]
        if found:
            return found[:1]
    return parts[:1]
