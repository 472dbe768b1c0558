"""Coroutines that wait for answers, driven without an event loop."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from typing import Any

import pytest

import weft.engine.drive
from weft.engine.drive import Ask, Driver

Answer = Callable[[Any], None]


class Bench:
    """A driver, what it reported, and the asks that wait for an answer."""

    def __init__(self) -> None:
        self.failures: list[BaseException] = []
        self.ends = 0
        self.waiting: list[Answer] = []
        self.driver = Driver(self.failures.append, self._ended)

    def _ended(self) -> None:
        self.ends += 1

    def later(self) -> Ask[Any]:
        """An ask that is answered when the test says so."""
        return Ask(self.waiting.append)


@pytest.fixture
def bench() -> Bench:
    """A new driver."""
    return Bench()


def at_once(answer: Any) -> Ask[Any]:
    """An ask whose answer is there."""
    return Ask(lambda done: done(answer))


def test_coroutine__goes_on_with_each_answer_in_turn(bench: Bench) -> None:
    """What is asked first is begun first, and each answer goes where it was asked for."""
    steps: list[Any] = []

    async def visit() -> None:
        steps.append("begun")
        steps.append(await bench.later())
        steps.append(await bench.later())

    bench.driver.run(visit())
    assert (steps, bench.driver.active, len(bench.waiting)) == (["begun"], 1, 1)
    bench.waiting[0]("one")
    assert (steps, bench.driver.active, len(bench.waiting)) == (["begun", "one"], 1, 2)
    bench.waiting[1]("two")
    assert (steps, bench.driver.active, bench.ends) == (["begun", "one", "two"], 0, 1)
    assert bench.failures == []


def test_coroutines__run_side_by_side(bench: Bench) -> None:
    """Answers may come in any order."""
    order: list[tuple[int, Any]] = []

    async def visit(number: int) -> None:
        order.append((number, await bench.later()))
        order.append((number, await bench.later()))

    for number in range(3):
        bench.driver.run(visit(number))
    for index, answer in ((2, "a"), (0, "b"), (3, "c"), (1, "d"), (4, "e"), (5, "f")):
        bench.waiting[index](answer)
    assert order == [(2, "a"), (0, "b"), (2, "c"), (1, "d"), (0, "e"), (1, "f")]
    assert (bench.driver.active, bench.ends) == (0, 3)


def test_answers__that_come_at_once_do_not_pile_up(bench: Bench) -> None:
    """A hundred thousand of them in a row take no depth of calls."""
    total = 0

    async def visit() -> None:
        nonlocal total
        for number in range(100_000):
            total += await at_once(number)

    bench.driver.run(visit())
    assert total == sum(range(100_000))
    assert bench.ends == 1


def test_answers__at_once_and_later_mix(bench: Bench) -> None:
    """Each goes to its own place."""
    got: list[Any] = []

    async def visit() -> None:
        got.append(await at_once(1))
        got.append(await bench.later())
        got.append(await at_once(3))
        got.append(await bench.later())

    bench.driver.run(visit())
    bench.waiting[0](2)
    bench.waiting[1](4)
    assert got == [1, 2, 3, 4]


def test_await__may_be_nested(bench: Bench) -> None:
    """A coroutine may await another one, however deep, and its value comes back."""

    async def inner(depth: int) -> int:
        if depth:
            return 1 + await inner(depth - 1)
        return int(await bench.later())

    results: list[int] = []

    async def visit() -> None:
        results.append(await inner(50))
        results.append(await inner(0))

    bench.driver.run(visit())
    bench.waiting[0](100)
    bench.waiting[1](7)
    assert results == [150, 7]


def test_none__is_an_answer(bench: Bench) -> None:
    """Nothing came is something to go on with."""
    got: list[Any] = []

    async def visit() -> None:
        got.append(await bench.later())

    bench.driver.run(visit())
    bench.waiting[0](None)
    assert got == [None]


@pytest.mark.parametrize("asks", [0, 1, 2])
def test_failure__is_reported_and_ends_that_coroutine_only(bench: Bench, asks: int) -> None:
    """Whatever a visit raises, before its first ask or after one, the others go on."""
    cleaned: list[str] = []

    async def bad() -> None:
        try:
            for _ in range(asks):
                await at_once(None)
            raise ZeroDivisionError
        finally:
            cleaned.append("bad")

    async def good() -> None:
        await bench.later()
        cleaned.append("good")

    bench.driver.run(good())
    bench.driver.run(bad())
    assert [type(error) for error in bench.failures] == [ZeroDivisionError]
    assert (bench.driver.active, bench.ends) == (1, 1)
    bench.waiting[0](None)
    assert cleaned == ["bad", "good"]
    assert (bench.driver.active, bench.ends) == (0, 2)


def test_failure__to_begin_is_raised_where_it_was_asked(bench: Bench) -> None:
    """A coroutine can deal with an ask that could not be begun, and clean up if it does not."""

    def fail(_done: Answer) -> None:
        raise ConnectionError

    steps: list[str] = []

    async def tolerant() -> None:
        try:
            await Ask(fail)
        except ConnectionError:
            steps.append("caught")
        await bench.later()
        steps.append("went on")

    async def plain() -> None:
        try:
            await Ask(fail)
        finally:
            steps.append("cleaned")

    bench.driver.run(tolerant())
    bench.driver.run(plain())
    bench.waiting[0](None)
    assert steps == ["caught", "cleaned", "went on"]
    assert [type(error) for error in bench.failures] == [ConnectionError]
    assert bench.driver.active == 0


def test_failure__what_is_no_ask_is_reported(bench: Bench) -> None:
    """A coroutine may await nothing else; it is told so and ended."""

    class Other:
        def __await__(self) -> Any:
            yield "not an ask"

    async def visit() -> None:
        await Other()

    bench.driver.run(visit())
    assert [type(error) for error in bench.failures] == [AttributeError]
    assert bench.driver.active == 0


def test_close__runs_what_must_be_done_at_the_end(bench: Bench) -> None:
    """Every coroutine is ended where it stands, its `finally` clauses run, and it is no failure."""
    cleaned: list[int] = []

    async def visit(number: int) -> None:
        try:
            await bench.later()
            cleaned.append(-1)
        finally:
            cleaned.append(number)

    for number in range(5):
        bench.driver.run(visit(number))
    bench.driver.close()
    assert sorted(cleaned) == [0, 1, 2, 3, 4]
    assert (bench.driver.active, bench.failures, bench.ends) == (0, [], 0)


def test_close__late_answers_are_of_no_concern(bench: Bench) -> None:
    """What comes after the end, or a second time, wakes nobody and is no failure."""
    got: list[Any] = []

    async def visit() -> None:
        got.append(await bench.later())

    bench.driver.run(visit())
    bench.driver.run(visit())
    bench.waiting[0]("in time")
    bench.driver.close()
    bench.waiting[0]("twice")
    bench.waiting[1]("late")
    assert got == ["in time"]
    assert (bench.failures, bench.ends) == ([], 1)


def test_close__a_coroutine_that_fails_at_its_end_does_not_keep_the_others(bench: Bench) -> None:
    """All are ended, and what went wrong is reported."""
    cleaned: list[int] = []

    async def visit(number: int) -> None:
        try:
            await bench.later()
        finally:
            cleaned.append(number)
            if number == 1:
                raise ZeroDivisionError

    for number in range(3):
        bench.driver.run(visit(number))
    bench.driver.close()
    assert sorted(cleaned) == [0, 1, 2]
    assert [type(error) for error in bench.failures] == [ZeroDivisionError]


def test_end__may_begin_the_next(bench: Bench) -> None:
    """When a coroutine is over another one is begun from within the call, for ever, without piling up."""
    begun = 0

    async def visit() -> None:
        await bench.later()

    def begin() -> None:
        nonlocal begun
        begun += 1
        driver.run(visit())

    driver = Driver(bench.failures.append, begin)
    driver.run(visit())
    for number in range(5000):
        bench.waiting[number](None)
    assert begun == 5000
    assert driver.active == 1
    driver.close()


def test_repr__shows_how_many_wait(bench: Bench) -> None:
    """In one line."""

    async def visit() -> None:
        await bench.later()

    bench.driver.run(visit())
    assert repr(bench.driver) == "Driver(1 active)"
    bench.driver.close()


def test_drive_doctest__holds() -> None:
    """The example in the module's docstring is true."""
    failed, tried = doctest.testmod(weft.engine.drive)
    assert tried > 0
    assert failed == 0
