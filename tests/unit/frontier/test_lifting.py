"""Files of a worker are brought to the next version of their format: all of them, however often it is cut short."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from weft.disk import rename, sync_file
from weft.errors import WeftError
from weft.frontier.durable import lifting, parcels
from weft.frontier.durable.chain import manifest_as_written, sibling
from weft.frontier.durable.checkpoint import fold
from weft.frontier.durable.lifting import lift
from weft.frontier.durable.log import Commit, FrontierLog
from weft.frontier.durable.parcels import Content, SiteParcel, packed, unpacked
from weft.frontier.durable.records import LENGTHS, VERSION, head_of_any, whole


def noted(said: dict[str, Any]) -> None:
    """What the next version wants to know."""
    assert "lifted" not in said, "this was lifted before"
    said["lifted"] = True


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log of a worker behind a checkpoint, the checkpoint, and the torn beginning of a record at its end."""
    path = tmp_path / "frontier.log"
    log = FrontierLog(path)
    for number in range(1, 8):
        log.pack(Commit(number=number, scope=["a.example"]), roll=number == 5)
        log.write(sync=False)
        log.written()
    log.close()
    fold(path)
    assert sibling(path, 1, "checkpoint").exists()
    with path.open("ab") as file:
        file.write(b"weft, and then the power failed")
    path.chmod(0o600)
    return path


def versions(log: Path) -> set[int]:
    """Of its files."""
    found = {manifest_as_written(path)[0] for path in log.parent.glob("*.checkpoint/manifest")}
    for path in log.parent.glob("*.log"):
        with path.open("rb") as file:
            head = head_of_any(file.fileno())
            assert head is not None
            found.add(head[2])
    return found


def said(path: Path) -> list[dict[str, Any]]:
    """What the records of a log say."""
    with path.open("rb") as file:
        head = head_of_any(file.fileno())
        assert head is not None
        return [
            msgspec.msgpack.decode(record.payload[LENGTHS.size : LENGTHS.size + LENGTHS.unpack_from(record.payload)[0]])
            for record in whole(file.fileno(), head[1])
        ]


def test_lift__changes_every_record_once(log: Path) -> None:
    """In logs and checkpoints; what a crash left at the end stays, and nobody can read more than before."""
    before, length = said(log), log.stat().st_size
    lift(log, VERSION, noted)
    assert versions(log) == {VERSION + 1}
    assert said(log) == [record | {"lifted": True} for record in before]
    assert msgspec.msgpack.decode(manifest_as_written(sibling(log, 1, "checkpoint") / "manifest")[1])["last"]["lifted"]
    assert log.read_bytes().endswith(b"weft, and then the power failed")
    assert log.stat().st_size > length
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    lift(log, VERSION, noted)
    assert versions(log) == {VERSION + 1}


@pytest.mark.parametrize("step", range(6))
def test_lift__that_is_cut_short_is_repeated(log: Path, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a file has its place, and behind that: the rest is lifted when it is tried again."""
    steps = 0

    def cut(do: Any) -> Any:
        def doing(*given: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps > step:
                raise InterruptedError
            return do(*given)

        return doing

    with monkeypatch.context() as patch:
        patch.setattr(lifting, "sync_file", cut(sync_file))
        patch.setattr(lifting, "rename", cut(rename))
        try:
            lift(log, VERSION, noted)
        except InterruptedError:
            assert versions(log) != {VERSION + 1} or step % 2 == 0
    lift(log, VERSION, noted)
    assert versions(log) == {VERSION + 1}
    assert all(record["lifted"] for record in said(log))
    assert not list(log.parent.glob("*.next"))


def test_lift__refuses_what_it_does_not_lead_from(log: Path) -> None:
    """Nothing is changed."""
    with pytest.raises(WeftError, match=f"an older weft wrote this \\(format {VERSION}, and this one reads"):
        lift(log, VERSION + 3, noted)
    assert versions(log) == {VERSION}


def test_parcel__of_an_earlier_format_is_lifted_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Step by step; where one is missing it is refused, and so is a later one."""
    content = packed(Content([SiteParcel("a.example")], made_at=3.0))
    monkeypatch.setattr(parcels, "FORMAT", parcels.FORMAT + 2)
    with pytest.raises(WeftError, match="an older weft wrote this parcel"):
        unpacked(content)
    for each in (parcels.FORMAT - 2, parcels.FORMAT - 1):
        monkeypatch.setitem(parcels.LIFTS, each, lambda said: said.update(made_at=said["made_at"] * 10))
    assert unpacked(content).made_at == 300.0
    assert unpacked(content).format == parcels.FORMAT
    later = zstandard.ZstdCompressor().compress(msgspec.msgpack.encode({"format": parcels.FORMAT + 1}))
    with pytest.raises(WeftError, match="a newer weft wrote this parcel"):
        unpacked(later)
