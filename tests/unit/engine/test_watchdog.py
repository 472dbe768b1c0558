"""The watchdog, over small processes that do nothing but end or hang."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.patience import PATIENCE

from weft.clock import VirtualClock
from weft.engine.messages import Messages
from weft.engine.watchdog import Watchdog, Watching
from weft.errors import WeftError
from weft.frontier.shared.contract import FrontierAwayError, Restart

GOOD = "exit 0"
HANGS = "exec sleep 60"
KILLED = "kill -9 $$"
CRASHED = "ulimit -c 0; kill -SEGV $$"
FAULT = "exit 70"
STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.05; done"


class ScriptedCrew:
    """Wants a number of workers, and writes down what it is told."""

    def __init__(self, wanted: int) -> None:
        self.number = wanted
        self.told: list[tuple[str, int]] = []
        self.away = 0  # so often the global frontier does not answer

    def wanted(self) -> int:
        """As many as the script says."""
        return self.number

    def fewer(self, workers: int) -> None:
        """Some leave."""
        self._hear("fewer", workers)

    def left(self, workers: int) -> None:
        """They have left."""
        self._hear("left", workers)

    def leave_out(self, worker: int, why: str) -> None:
        """One that kept dying is gone."""
        assert "in a row without a commit" in why
        self._hear("leave out", worker)

    def more(self, workers: int) -> None:
        """All have left."""
        self._hear("more", workers)

    def _hear(self, what: str, workers: int) -> None:
        if self.away:
            self.away -= 1
            raise FrontierAwayError("it is away")
        self.told.append((what, workers))


class Kennel:
    """A watchdog on a virtual clock. Each worker has a script for each of its starts; the last one counts on."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.clock = VirtualClock(1000.0)
        self.restarts: list[Restart] = []
        self.over = True
        self.crew: ScriptedCrew | None = None
        self.signs: dict[int, float] = {}
        self.waited = 0.0  # seconds for which any worker was kept waiting for a processor
        self.said: list[str] = []
        self.started: list[tuple[int, float]] = []  # who, when
        self.processes: list[subprocess.Popen[bytes]] = []
        self.ticks = 0
        self._scripts: dict[int, list[str]] = {}
        self.dog: Watchdog | None = None

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        scripts = self._scripts[number]
        script = scripts.pop(0) if len(scripts) > 1 else scripts[0]
        self.started.append((number, self.clock.now()))
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.processes.append(subprocess.Popen(["sh", "-c", script], **pipes, start_new_session=True))
        return self.processes[-1]

    def make(self, *scripts: list[str], hung_after: float = 60.0, most_restarts: int = 8) -> Watchdog:
        """A watchdog with a worker for each list of scripts."""
        self._scripts = {number: list(each) for number, each in enumerate(scripts)}
        self.dog = Watchdog(
            len(scripts),
            start=self._start,
            signs=lambda: dict(self.signs),
            settings=Watching(hung_after=hung_after, most_restarts=most_restarts),
            clock=self.clock,
            messages=Messages(self.log, self.clock, lambda line: self.said.append(line.removeprefix("weft: "))),
            on_restart=self.restarts.append,
            is_over=lambda: self.over,
            crew=self.crew,
            waited=lambda _pid: self.waited,
        )
        return self.dog

    def run(self, *, step: float = 1.0, on_tick: Callable[[], None] = lambda: None) -> None:
        """Watch until the end; with each look so many seconds pass."""
        assert self.dog is not None

        def tick() -> None:
            self.ticks += 1
            assert self.ticks < 200, "it does not come to an end"
            self.clock.advance(step)
            on_tick()

        self.dog.run(tick)

    def starts(self, worker: int = 0) -> int:
        """How often a worker was started."""
        return sum(number == worker for number, _ in self.started)


@pytest.fixture
def kennel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Kennel]:
    """A watchdog that looks often, and nothing left of its workers."""
    monkeypatch.setattr("weft.engine.watchdog._LOOK", 0.02)
    monkeypatch.setattr("weft.engine.watchdog._SHOW", 1)
    made = Kennel(tmp_path / "messages.log")
    yield made
    for process in made.processes:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def test_worker__that_ends_well_is_done(kennel: Kennel) -> None:
    """Each is started once, and the watchdog ends with the last; nothing is said."""
    kennel.make([GOOD], ["sleep 0.3"], [GOOD])
    kennel.run(step=0.01)
    assert [number for number, _ in kennel.started] == [0, 1, 2]
    assert kennel.said == []
    assert kennel.ticks > 5, "the slow one was waited for"
    assert kennel.dog is not None
    assert kennel.dog.why == ""


@pytest.mark.parametrize(
    ("death", "how"), [(KILLED, "signal 9"), (CRASHED, "signal 11"), (FAULT, "exit code 70"), ("kill $$", "signal 15")]
)
def test_worker__that_dies_is_started_again(kennel: Kennel, death: str, how: str) -> None:
    """At once; others are left alone. Nobody had told it to stop."""
    kennel.make([death, GOOD], ["sleep 0.3"])
    kennel.run(step=0.01)
    assert (kennel.starts(0), kennel.starts(1)) == (2, 1)
    assert kennel.said == [f"worker 0 died by {how}; it is started again from its last commit"]


def test_restart__is_told_with_what_the_worker_said_last(kennel: Kennel) -> None:
    """All that it said is passed on, also what it said while it died; a restart has the last line as its cause."""
    kennel.make(["echo first >&2; echo; printf 'the cause' >&2; exit 70", GOOD])
    kennel.run(step=0.01)
    assert kennel.said[:2] == ["first", "the cause"]
    assert kennel.said[2] == "worker 0 died by exit code 70 (the cause); it is started again from its last commit"
    (restart,) = kennel.restarts
    assert (restart.worker, restart.how, restart.cause) == (0, "exit code 70", "the cause")
    kept = kennel.log.read_text(encoding="utf-8").splitlines()
    assert [line.partition(" ")[2].removeprefix("weft: ") for line in kept] == kennel.said


def test_worker__that_ends_before_the_crawl_does_is_started_again(kennel: Kennel) -> None:
    """Somebody may have told it, and not the watchdog, to stop: that is no end of the crawl."""
    kennel.over = False
    kennel.make([GOOD, "sleep 0.2"])
    kennel.run(step=0.01, on_tick=lambda: setattr(kennel, "over", kennel.starts(0) > 1))
    assert kennel.starts(0) == 2
    assert [restart.how for restart in kennel.restarts] == ["exit code 0"]


@pytest.mark.parametrize("code", [1, 2])
def test_worker__that_gives_up_ends_the_crawl(kennel: Kennel, code: int) -> None:
    """It has said why; another start would come to the same. The others are not left behind."""
    kennel.make([HANGS], [f"exit {code}"])
    with pytest.raises(WeftError, match="worker 1 could not go on") as caught:
        kennel.run(step=0.01)
    assert "its message above" in (caught.value.todo or "")
    assert len(kennel.started) == 2
    assert [process.poll() for process in kennel.processes] == [-signal.SIGKILL, code]


def test_worker__without_a_sign_of_life_is_killed_and_started_again(kennel: Kennel) -> None:
    """After its time and not before; one that shows signs is left alone."""
    kennel.make([HANGS, GOOD], ["sleep 0.6"], hung_after=60.0)

    def tick() -> None:
        kennel.signs[1] = kennel.clock.now()

    kennel.run(step=9.0, on_tick=tick)
    assert (kennel.starts(0), kennel.starts(1)) == (2, 1)
    began, again = (when for number, when in kennel.started if number == 0)
    assert 60.0 < again - began < 300.0
    assert list(dict.fromkeys(kennel.said)) == [
        "worker 0 shows no sign of life for 60 s",
        "worker 0 died by signal 9 (no sign of life for 60 s); it is started again from its last commit",
    ]


def test_worker__that_does_not_come_to_run_is_waited_for(kennel: Kennel) -> None:
    """Beside programs that take all processors a worker gives no sign either: it is told of once, and not killed. When
    it has the processors and gives no sign still, it hangs.
    """
    kennel.make([HANGS, GOOD], hung_after=60.0)

    def starve() -> None:
        if kennel.clock.now() < 1500.0:
            kennel.waited += 9.0

    kennel.run(step=10.0, on_tick=starve)
    starved = "worker 0 does not come to run: other programs have the processors"
    assert kennel.said.count(starved) == 1
    assert [restart.cause for restart in kennel.restarts] == ["no sign of life for 60 s"]
    assert kennel.started[1][1] == pytest.approx(1000.0 + 60.0 + 450.0, abs=25.0)


def test_worker__whose_signs_stop_is_hung_from_the_last_one_on(kennel: Kennel) -> None:
    """By the watchdog's own clock: whatever the sign says, it is that it changes."""
    kennel.make([HANGS, GOOD], hung_after=60.0)

    def tick() -> None:
        if kennel.clock.now() < 1200.0:
            kennel.signs[0] = 5e9 - kennel.clock.now()

    kennel.run(step=10.0, on_tick=tick)
    assert kennel.starts() == 2
    assert 1250.0 < kennel.started[1][1] < 1500.0


def test_worker__that_was_started_again_has_its_time_anew(kennel: Kennel) -> None:
    """Signs of the one before do not count against it."""
    kennel.make([HANGS, HANGS, GOOD], hung_after=60.0)
    kennel.run(step=10.0)
    first, second, third = (when for _, when in kennel.started)
    assert 60.0 < second - first < 300.0
    assert 60.0 < third - second < 300.0


def test_worker__that_keeps_dying_is_given_up(kennel: Kennel) -> None:
    """After so many deaths in a row; the pauses before a start grow, so that nothing is worn out meanwhile."""
    kennel.make([KILLED], [HANGS], most_restarts=6)
    kennel.signs[0] = 5.0  # its name, from an earlier run
    with pytest.raises(WeftError, match=r"worker 0 died 7 times in a row without a commit, last by signal 9") as caught:
        kennel.run(step=0.5, on_tick=lambda: kennel.signs.update({1: kennel.clock.now()}))
    assert "log/messages.log" in (caught.value.todo or "")
    assert kennel.starts(0) == 7
    times = [when for number, when in kennel.started if number == 0]
    pauses = [later - earlier for earlier, later in pairwise(times)]
    for pause, least in zip(pauses, (0.0, 1.0, 2.0, 4.0, 8.0, 16.0), strict=True):
        assert pause >= least
    assert all(process.poll() is not None for process in kennel.processes)


def test_worker__that_keeps_dying_is_left_out_where_there_are_others(kennel: Kennel) -> None:
    """Its groups go to them, by the crew; they go on, and the operator is told."""
    crew = kennel.crew = ScriptedCrew(3)
    kennel.make(["sleep 1.5"], [KILLED], [GOOD], most_restarts=2)
    kennel.run(step=0.5, on_tick=lambda: kennel.signs.update({0: kennel.clock.now()}))
    assert crew.told == [("leave out", 1)]
    assert kennel.starts(1) == 3
    assert kennel.starts(0) == kennel.starts(2) == 1
    assert [line for line in kennel.said if "left out of this run: it died 3 times in a row" in line]


def test_worker__is_left_out_again_when_their_number_changes(kennel: Kennel) -> None:
    """Fewer workers are wanted: it belongs to them by its number, and does not run all the same."""
    crew = kennel.crew = ScriptedCrew(3)
    kennel.make(["sleep 1.5"], [KILLED], ["sleep 1.5"], most_restarts=1)

    def tick() -> None:
        kennel.signs.update({number: kennel.clock.now() for number in (0, 2)})
        if ("leave out", 1) in crew.told:
            crew.number = 2

    kennel.run(step=0.5, on_tick=tick)
    assert crew.told[:3] == [("leave out", 1), ("fewer", 2), ("leave out", 1)]


def test_worker__that_keeps_dying_while_the_frontier_is_away(kennel: Kennel) -> None:
    """It is started once more, and left out then."""
    crew = kennel.crew = ScriptedCrew(2)
    crew.away = 1
    kennel.make(["sleep 1.5"], [KILLED], most_restarts=1)
    kennel.run(step=2.0, on_tick=lambda: kennel.signs.update({0: kennel.clock.now()}))
    assert crew.told == [("leave out", 1)]
    assert kennel.starts(1) == 3
    assert any("is left out when it is back" in line for line in kennel.said)


def test_worker__the_last_that_is_left_ends_the_crawl(kennel: Kennel) -> None:
    """When all others were left out, the next one that keeps dying is one too many."""
    crew = kennel.crew = ScriptedCrew(2)
    kennel.make([KILLED], [KILLED], most_restarts=1)
    with pytest.raises(WeftError, match="died 2 times in a row without a commit"):
        kennel.run(step=0.5)
    assert [what for what, _ in crew.told] == ["leave out"]


def test_worker__that_commits_between_deaths_is_not_given_up(kennel: Kennel) -> None:
    """A sign of life behind its name is a commit, and the deaths before it are forgotten."""
    kennel.make([*["sleep 0.3; kill -9 $$"] * 5, GOOD], most_restarts=2)
    kennel.run(step=0.5, on_tick=lambda: kennel.signs.update({0: kennel.clock.now()}))
    assert kennel.starts() == 6


def test_worker__whose_name_is_its_only_sign_is_given_up(kennel: Kennel) -> None:
    """That it begins is no commit."""
    kennel.make([KILLED], most_restarts=2)
    with pytest.raises(WeftError, match="died 3 times"):
        kennel.run(step=0.5, on_tick=lambda: kennel.signs.update({0: float(kennel.starts())}))
    assert kennel.starts() == 3


# --- stopping ---


@pytest.mark.parametrize(("number", "why"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_signal__tells_the_workers_to_stop(kennel: Kennel, number: signal.Signals, why: str) -> None:
    """They are terminated, whichever signal it was; that is no death, and one that is gone is no fault."""
    dog = kennel.make([HANGS], [HANGS], [GOOD])
    kennel.processes[2].wait(PATIENCE)
    dog._on_signal(number, None)
    kennel.run()
    assert dog.why == why
    assert [process.wait(PATIENCE) for process in kennel.processes] == [-signal.SIGTERM, -signal.SIGTERM, 0]
    assert len(kennel.started) == 3
    assert kennel.said == []


def test_signal__every_one_is_passed_on(kennel: Kennel) -> None:
    """A worker decides what the second one means; whoever stops in its own time ends well."""
    counting = "n=0; trap 'n=$((n+1)); [ $n = 2 ] && exit 0' TERM; echo ready; while :; do sleep 0.02; done"
    dog = kennel.make([counting])
    stdout = kennel.processes[0].stdout
    assert stdout is not None
    assert stdout.readline() == b"ready\n"
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks in (5, 25):
            assert kennel.processes[0].poll() is None
            dog._on_signal(signal.SIGINT, None)

    kennel.run(step=0.01, on_tick=tick)
    assert ticks >= 25
    assert kennel.starts() == 1


def test_signal__reaches_the_watchdog_while_it_runs(kennel: Kennel) -> None:
    """The real one; who handled it before does so again afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    dog = kennel.make([HANGS], [HANGS])
    kennel.run(step=0.01, on_tick=lambda: os.kill(os.getpid(), signal.SIGINT) if kennel.ticks == 3 else None)
    assert dog.why == "interrupted"
    assert {number: signal.getsignal(number) for number in before} == before


# --- the end of the watchdog ---


def test_end__leaves_no_worker_behind(kennel: Kennel) -> None:
    """Whatever goes wrong, also with those that do not listen."""
    kennel.make([HANGS], [STUBBORN])
    stdout = kennel.processes[1].stdout
    assert stdout is not None
    assert stdout.readline() == b"ready\n"
    kennel.processes[1].terminate()

    def fail() -> None:
        raise RuntimeError("the display failed")

    with pytest.raises(RuntimeError, match="the display failed"):
        kennel.run(on_tick=fail)
    assert [process.poll() for process in kennel.processes] == [-signal.SIGKILL] * 2


# Another number of workers.


@pytest.mark.parametrize("end", ["sleep 0.4; exit 0", "sleep 0.4; kill -9 $$"])
def test_workers__that_are_taken_away_are_not_started_again(kennel: Kennel, end: str) -> None:
    """However they end; the others go on, and what was held is handed over when they are gone."""
    kennel.crew, kennel.over = ScriptedCrew(1), False
    kennel.crew.away = 1
    kennel.make(["sleep 1.2"], [end], [end])

    def tick() -> None:
        assert kennel.crew is not None
        gone = all(process.poll() is not None for process in kennel.processes[1:])
        assert gone or ("left", 1) not in kennel.crew.told
        kennel.over = ("left", 1) in kennel.crew.told

    kennel.run(step=1.0, on_tick=tick)
    assert kennel.crew.told == [("fewer", 1), ("left", 1)]
    assert [number for number, _ in kennel.started] == [0, 1, 2]
    assert kennel.restarts == []


def test_workers__that_are_added_start_when_all_have_finished(kennel: Kennel) -> None:
    """Those that run are told to finish, and start again with the new ones."""
    kennel.crew, kennel.over = ScriptedCrew(3), False
    waits = "trap 'exit 0' TERM; while :; do sleep 0.05; done"
    kennel.make([waits, "sleep 0.4"], [waits, "sleep 0.4"])
    kennel._scripts[2] = ["sleep 0.4"]

    def tick() -> None:
        assert kennel.crew is not None
        kennel.over = len(kennel.started) == 5
        assert (len(kennel.started) > 2) == (kennel.crew.told == [("more", 3)])

    kennel.run(step=1.0, on_tick=tick)
    assert [number for number, _ in kennel.started] == [0, 1, 0, 1, 2]
    assert kennel.restarts == []


def test_workers__whose_number_changes_are_told_to_stop_as_ever(kennel: Kennel) -> None:
    """The change is given up."""
    kennel.crew, kennel.over = ScriptedCrew(1), False
    kennel.make(["sleep 60"], [STUBBORN])
    assert kennel.dog is not None
    stopped: list[bool] = []

    def tick() -> None:
        assert kennel.crew is not None
        assert kennel.dog is not None
        if kennel.crew.told and not stopped:
            stopped.append(True)
            kennel.dog._stop("interrupted")
            kennel.processes[1].kill()

    kennel.run(step=1.0, on_tick=tick)
    assert kennel.crew.told == [("fewer", 1)]
    assert kennel.dog.why == "interrupted"
