"""Who has come in. In: tokens, each good for one entry; values of a cookie. Out: sessions.

A token and a session are 256 bits of chance, and only their hashes are kept: what is looked up is no secret, so that
the time which that takes tells nothing. They live in the memory of this process and end with it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

from weft.clock import Clock

IDLE = 12 * 3600.0  # seconds without a request after which a session ends
LONGEST = 7 * 86_400.0  # seconds after which one ends in any case
_MOST = 64  # sessions; the one that was idle longest makes room
_MOST_TOKENS = 16  # that are not used yet; the oldest makes room


@dataclass(slots=True)
class Session:
    """One browser that has come in."""

    csrf: str  # what every form of it must send back
    began: float
    used: float
    said: list[str] = field(default_factory=list)  # what came of its last action, until a page has shown it
    ended: bool = False


class Sessions:
    """Those of one console."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tokens: dict[bytes, None] = {}
        self._sessions: dict[bytes, Session] = {}

    def __repr__(self) -> str:
        return f"Sessions({len(self._sessions)}, {len(self._tokens)} tokens)"

    def token(self) -> str:
        """A token that is good for one entry."""
        token = secrets.token_urlsafe(32)
        self._tokens[_hash(token)] = None
        while len(self._tokens) > _MOST_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        return token

    def enter(self, token: str) -> str | None:
        """Exchange a token, once, for the value of a cookie; None where there is no such token."""
        key = _hash(token)
        if key not in self._tokens:
            return None
        del self._tokens[key]
        value, now = secrets.token_urlsafe(32), self._clock.elapsed()
        while len(self._sessions) >= _MOST:
            self._end(min(self._sessions, key=lambda key: self._sessions[key].used))
        self._sessions[_hash(value)] = Session(secrets.token_urlsafe(32), now, now)
        return value

    def find(self, values: Iterable[str]) -> Session | None:
        """The session of a request, by the values of its cookie: who else set one of the same name may not matter."""
        now = self._clock.elapsed()
        for value in values:
            key = _hash(value)
            session = self._sessions.get(key)
            if session is None:
                continue
            if now - session.used > IDLE or now - session.began > LONGEST:
                self._end(key)
                continue
            session.used = now
            return session
        return None

    def leave(self, session: Session) -> None:
        """End a session."""
        for key in [key for key, each in self._sessions.items() if each is session]:
            self._end(key)

    def _end(self, key: bytes) -> None:
        self._sessions.pop(key).ended = True


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
