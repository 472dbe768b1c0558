"""Memory for large answers: one sum for all, and who gives way when it is used up."""

from __future__ import annotations

from weft.fetch.room import Room


class Answer:
    """An answer that is coming."""

    def __init__(self) -> None:
        self.coming = True

    def give_way(self) -> None:
        """Keep no more than is free."""
        self.coming = False


def test_room__the_answer_that_began_first_gives_way() -> None:
    """Until there is room; one that is being read keeps what it has."""
    room = Room(100)
    read, slow, quick, new = (Answer() for _ in range(4))
    assert all(room.grow(each, 30) for each in (read, slow, quick))
    read.coming = False
    assert room.grow(new, 30)
    assert (slow.coming, quick.coming, new.coming) == (False, True, True)
    assert room.total == 90
    room.release(read)
    assert room.total == 60


def test_room__an_answer_that_is_alone_gives_way_itself() -> None:
    """There is an end to what one may hold."""
    room = Room(100)
    answer = Answer()
    assert room.grow(answer, 100)
    assert not room.grow(answer, 1)
    assert room.total == 0


def test_room__what_others_hold_while_they_are_read_counts() -> None:
    """Answers that wait to be read take memory, too."""
    room = Room(100)
    waiting, new = Answer(), Answer()
    assert room.grow(waiting, 90)
    waiting.coming = False
    assert not room.grow(new, 20)
    assert room.total == 90
