"""Who comes in, and for how long."""

from __future__ import annotations

from weft.clock import VirtualClock
from weft.console.sessions import IDLE, LONGEST, Sessions


def entered(sessions: Sessions) -> str:
    """The cookie of somebody who came in."""
    value = sessions.enter(sessions.token())
    assert value is not None
    return value


def test_token__is_good_for_one_entry() -> None:
    """Whoever has the link afterwards, from a history or a log, stays outside."""
    sessions = Sessions(VirtualClock())
    token = sessions.token()
    assert sessions.enter(token) is not None
    assert sessions.enter(token) is None


def test_token__that_was_never_given_opens_nothing() -> None:
    """Nor does one that is nearly right, or no text at all."""
    sessions = Sessions(VirtualClock())
    token = sessions.token()
    for other in ("", token[:-1], token + "A", token.swapcase(), "\ud800", "x" * 100_000):
        assert sessions.enter(other) is None
    assert sessions.enter(token) is not None


def test_session__is_found_by_its_cookie_among_others() -> None:
    """Another server of the machine may have set a cookie of the same name."""
    sessions = Sessions(VirtualClock())
    value = entered(sessions)
    assert sessions.find(["other", value]) is not None
    assert sessions.find(["other"]) is None
    assert sessions.find([]) is None


def test_session__ends_when_it_is_idle_and_after_a_week() -> None:
    """What is used stays; nothing stays for ever."""
    clock = VirtualClock()
    sessions = Sessions(clock)
    value = entered(sessions)
    found = sessions.find([value])
    assert found is not None
    clock.advance(IDLE - 1)
    assert sessions.find([value]) is found
    clock.advance(IDLE + 1)
    assert sessions.find([value]) is None
    assert found.ended
    value = entered(sessions)
    for _ in range(int(LONGEST / IDLE * 2)):
        clock.advance(IDLE / 2)
        sessions.find([value])
    clock.advance(IDLE / 2)
    assert sessions.find([value]) is None


def test_session__that_was_left_is_over() -> None:
    """Its cookie opens nothing, and its streams of events end."""
    sessions = Sessions(VirtualClock())
    value = entered(sessions)
    session = sessions.find([value])
    assert session is not None
    sessions.leave(session)
    assert session.ended
    assert sessions.find([value]) is None


def test_sessions__are_bounded() -> None:
    """Who comes in again and again takes no more memory; the one that was idle longest goes."""
    clock = VirtualClock()
    sessions = Sessions(clock)
    values = []
    for _ in range(200):
        clock.advance(1)
        values.append(entered(sessions))
    assert sessions.find([values[0]]) is None
    assert sessions.find([values[-1]]) is not None
    assert sum(sessions.find([value]) is not None for value in values) == 64
    tokens = [sessions.token() for _ in range(100)]
    assert sessions.enter(tokens[0]) is None
    assert sessions.enter(tokens[-1]) is not None


def test_forms__of_two_sessions_have_different_secrets() -> None:
    """Who is inside cannot make forms for another."""
    sessions = Sessions(VirtualClock())
    first, second = (sessions.find([entered(sessions)]) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.csrf != second.csrf
