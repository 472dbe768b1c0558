"""What weft says: shown at once, kept with its time, and the log of it does not grow for ever."""

from __future__ import annotations

import json
from pathlib import Path

from weft.clock import SystemClock, VirtualClock
from weft.engine.messages import Messages
from weft.store.rotation import Rotation


def test_messages__are_shown_and_kept(tmp_path: Path) -> None:
    """What has been shown elsewhere is kept alone."""
    shown: list[str] = []
    messages = Messages(tmp_path / "log" / "messages.log", SystemClock(), shown.append)
    messages.say("a worker died")
    messages.keep("weft: compiled in 60 s")
    lines = (tmp_path / "log" / "messages.log").read_text("utf-8").splitlines()
    assert shown == ["weft: a worker died"]
    assert [line.partition(" ")[2] for line in lines] == ["weft: a worker died", "weft: compiled in 60 s"]


def test_messages__are_put_aside_when_there_are_many(tmp_path: Path) -> None:
    """By the limits of the crawl log: no line is lost, but those of files that nobody wants to keep."""
    path = tmp_path / "messages.log"
    messages = Messages(path, SystemClock(), lambda _line: None, Rotation(200, 0, SystemClock()))
    for number in range(40):
        messages.say(f"message {number}")
    files = [*sorted(set(tmp_path.iterdir()) - {path}), path]  # names are by time
    assert len(files) > 3
    assert all(each.stat().st_size < 300 for each in files)
    kept = [line for each in files for line in each.read_text("utf-8").splitlines()]
    assert [int(line.rpartition(" ")[2]) for line in kept] == list(range(40))
    few = Messages(path, SystemClock(), lambda _line: None, Rotation(200, 2, SystemClock()))
    for number in range(20):
        few.say(f"message {number}")
    assert len(list(tmp_path.iterdir())) == 3


def test_messages__that_cannot_be_kept_are_shown(tmp_path: Path) -> None:
    """A file in the way of the folder costs no message."""
    (tmp_path / "log").write_text("")
    shown: list[str] = []
    Messages(tmp_path / "log" / "messages.log", SystemClock(), shown.append, Rotation(1, 0, SystemClock())).say("x")
    assert shown == ["weft: x"]


def test_messages__may_be_json(tmp_path: Path) -> None:
    """One object a line, whatever is said."""
    path = tmp_path / "messages.log"
    Messages(path, VirtualClock(1_700_000_000.5), lambda _line: None, form="json").say('it said "no"\n\tand \udc80')
    (line,) = path.read_text("utf-8").splitlines()
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20Z",
        "message": 'weft: it said "no"\n\tand \\udc80',
    }
