"""A worker's letters: sent until they are applied, and read until they are settled."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.frontier.durable.log import Commit
from weft.frontier.local.correspondence import Correspondence
from weft.frontier.shared.contract import Batch, Begun, Orders
from weft.store.files import SETTLED


def commit(mail: Correspondence, *claimed: str) -> Commit:
    """A commit with a batch, on disk."""
    made = Commit()
    mail.seal(Batch(0, claimed=list(claimed)), made)
    mail.committed(made.number, made.taken)
    return made


def replayed(commits: Iterable[Commit], begun: Begun) -> Correspondence:
    """What a worker knows that begins again with these commits in its log."""
    mail = Correspondence(begun)
    for each in commits:
        mail.replay(each)
    return mail


def sent(mail: Correspondence) -> list[tuple[int, list[str]]]:
    """The batches of its next report."""
    return [(batch.number, batch.claimed) for batch in mail.report(0).batches]


# --- batches ---


def test_batch__is_sent_until_it_is_applied() -> None:
    """In every report, the oldest first; a report that says less than is known changes nothing."""
    mail = Correspondence(Begun(3, 10, alone=False))
    for name in ("a", "b", "c"):
        commit(mail, name)
    everything = [(11, ["a"]), (12, ["b"]), (13, ["c"])]
    assert sent(mail) == sent(mail) == everything
    mail.read(Orders(applied=10))
    assert sent(mail) == everything
    mail.read(Orders(applied=12))
    assert sent(mail) == everything[2:]
    mail.read(Orders(applied=11))
    assert sent(mail) == everything[2:]
    mail.read(Orders(applied=13))
    assert sent(mail) == []
    commit(mail, "d")
    assert sent(mail) == [(14, ["d"])]


def test_batch__is_sent_when_its_commit_is_on_disk() -> None:
    """Not while it is packed only: a power failure could take it back, and others had heard of it."""
    mail = Correspondence()
    commit(mail, "a")
    packed = Commit()
    mail.seal(Batch(0, claimed=["b"]), packed)
    waits = [mail.unwritten]
    assert sent(mail) == [(1, ["a"])]
    assert mail.report(0).number == 1
    mail.committed(packed.number, packed.taken)
    assert [*waits, mail.unwritten] == [True, False]
    assert sent(mail) == [(1, ["a"]), (2, ["b"])]


def test_address__that_is_given_back_is_told_until_it_is_heard() -> None:
    """The exchange may fail; nobody else could have the address."""
    mail = Correspondence()
    assert mail.report(0, released=[("192.0.2.1", 3.0)]).released == [("192.0.2.1", 3.0)]
    assert mail.report(0, released=[("192.0.2.2", 1.0)]).released == [("192.0.2.1", 3.0), ("192.0.2.2", 1.0)]
    mail.read(Orders())
    assert mail.report(0).released == []


def test_batch__that_says_nothing_is_not_sent() -> None:
    """Its number is used up nevertheless: each commit has its own."""
    mail = Correspondence()
    empty = commit(mail)
    full = commit(mail, "a")
    assert (empty.number, empty.batch) == (1, b"")
    assert (full.number, full.batch != b"") == (2, True)
    assert sent(mail) == [(2, ["a"])]


def test_batch__after_a_restart_what_was_applied_is_not_sent_again() -> None:
    """What was not, is; in the same words and under the same numbers."""
    mail = Correspondence(Begun(1, 0, alone=False))
    commits = [commit(mail, name) for name in ("a", "b", "c", "d")]
    again = replayed(commits, Begun(2, 2, alone=False))
    assert sent(again) == [(3, ["c"]), (4, ["d"])]
    assert again.report(5).incarnation == 2
    assert again.report(5).worker == 5
    assert commit(again, "e").number == 5


def test_batch__after_losing_commits_numbers_go_on_above_what_was_applied() -> None:
    """The global frontier knows batches of commits that are gone: theirs are not used again, or new ones were lost."""
    mail = Correspondence(Begun(1, 0, alone=False))
    commits = [commit(mail, name) for name in ("a", "b", "c", "d")]
    again = replayed(commits[:2], Begun(2, 4, alone=False))
    assert sent(again) == []
    assert commit(again, "e").number == 5
    assert sent(again) == [(5, ["e"])]


@given(st.data())
def test_batch__every_one_is_applied_once_whatever_happens(data: st.DataObject) -> None:
    """Reports are lost before or behind the global frontier, and the worker starts again at any moment."""
    applied = 0
    seen: list[str] = []
    log: list[Commit] = []
    mail = Correspondence(Begun(1, 0, alone=False))
    expected: list[str] = []
    for step in data.draw(st.lists(st.sampled_from(["commit", "exchange", "unheard", "restart"]), max_size=40)):
        if step == "commit":
            name = f"group {len(expected)}"
            expected.append(name)
            log.append(commit(mail, name))
        elif step == "restart":
            mail = replayed(log, Begun(1, applied, alone=False))
        else:
            for batch in mail.report(0).batches:
                if batch.number > applied:
                    seen += batch.claimed
                    applied = batch.number
            if step == "exchange":
                mail.read(Orders(applied=applied))
                assert sent(mail) == []
    for batch in mail.report(0).batches:
        if batch.number > applied:
            seen += batch.claimed
    assert seen == expected


# --- the inbox ---


def test_inbox__what_was_taken_in_is_settled_two_commits_later() -> None:
    """Until then the global frontier keeps it for us, in case the last commits are lost."""
    mail = Correspondence()
    seen = []
    for taken in (5, 6, 6, 9, 9, 9):
        mail.read(Orders(taken=taken))
        assert mail.report(0).taken == taken
        assert commit(mail).taken == taken
        seen.append(mail.report(0).settled)
    assert SETTLED == 2
    assert seen == [0, 0, 5, 6, 6, 9]


def test_inbox__taking_in_settles_nothing_without_commits() -> None:
    """However long it goes on."""
    mail = Correspondence()
    for taken in range(1, 10):
        mail.read(Orders(taken=taken))
        assert mail.report(0).taken == taken
        assert mail.report(0).settled == 0


def test_inbox__what_comes_between_packing_and_writing_is_not_part_of_the_commit() -> None:
    """It is taken in by the next one."""
    mail = Correspondence()
    mail.read(Orders(taken=4))
    packed = Commit()
    mail.seal(Batch(0), packed)
    mail.read(Orders(taken=8))
    mail.committed(packed.number, packed.taken)
    assert packed.taken == 4
    assert mail.report(0).taken == 8
    assert commit(mail).taken == 8
    assert commit(mail).taken == 8
    assert mail.report(0).settled == 4


@pytest.mark.parametrize("lost", range(SETTLED + 1))
def test_inbox__after_losing_commits_nothing_that_is_missing_was_settled(lost: int) -> None:
    """What the worker stands at when it begins again is never behind what it once said was settled."""
    mail = Correspondence()
    log = []
    for taken in range(1, 8):
        mail.read(Orders(taken=taken))
        log.append(commit(mail))
    settled = mail.report(0).settled
    again = replayed(log[: len(log) - lost], Begun(2, 0, alone=False))
    assert again.report(0).taken == 7 - lost >= settled
    assert again.report(0).settled <= settled


# --- the rest ---


def test_report__says_what_is_known_of_scope_and_rules() -> None:
    """So that only what is new is told; after a restart everything is told again."""
    mail = Correspondence()
    mail.read(Orders(scope_at=4, rules_at=2))
    mail.read(Orders(scope_at=0, rules_at=3))
    report = mail.report(0)
    assert (report.scope, report.rules) == (4, 3)
    again = replayed([commit(mail)], Begun(2, 0, alone=False)).report(0)
    assert (again.scope, again.rules) == (0, 0)
