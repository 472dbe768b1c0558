"""Writing files safely: a name stands for something whole, whatever happens meanwhile."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

import weft
from weft import disk
from weft.errors import UsageError, WeftError

SOURCE = Path(weft.__file__).parent
OTHERS = ("pages", "salvage")  # what else has a method of this name, and is no path


class Trace:
    """What was synced and renamed, in its order."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.steps: list[str] = []
        fsync, rename = os.fsync, Path.rename

        def synced(handle: int) -> None:
            self.steps.append(f"sync {Path(f'/proc/self/fd/{handle}').readlink().name}")
            fsync(handle)

        def renamed(path: Path, final: Path) -> Path:
            self.steps.append(f"rename {path.name} {final.name}")
            return rename(path, final)

        patch.setattr(os, "fsync", synced)
        patch.setattr(Path, "rename", renamed)


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Trace:
    """Notes what is done."""
    return Trace(monkeypatch)


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(each.name for each in folder.iterdir())


def renames(tree: ast.AST) -> list[int]:
    """The lines in which something is renamed: os.rename, os.replace, path.rename(…), path.replace(one argument)."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_os = isinstance(node.func.value, ast.Name) and node.func.value.id == "os"
            given = len(node.args) + len(node.keywords)
            name = node.func.attr
            if ast.unparse(node.func.value).endswith(OTHERS):
                continue
            if (of_os and name in ("rename", "renames", "replace")) or (
                given == 1 and node.args and name in ("rename", "replace")
            ):
                found.append(node.lineno)
    return found


def test_files__are_renamed_in_one_room_only() -> None:
    """Whoever renames a file by himself forgets one of the four steps some day."""
    elsewhere = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path != SOURCE / "disk.py"
        for line in renames(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert elsewhere == []
    assert renames(ast.parse((SOURCE / "disk.py").read_text(encoding="utf-8")))


def test_file__is_written_beside_synced_renamed_and_its_name_synced(tmp_path: Path, trace: Trace) -> None:
    """In this order: a power failure between two of them leaves the old file or the new one."""
    (tmp_path / "a").write_text("old")
    disk.replace_file(tmp_path / "a", b"new", mode=0o600)
    assert trace.steps == ["sync a.new", "rename a.new a", f"sync {tmp_path.name}"]
    assert (tmp_path / "a").read_text() == "new"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["a"]


def test_file__is_as_it_was_where_writing_fails(tmp_path: Path) -> None:
    """Nothing is left beside it; what an earlier crash left does no harm."""
    (tmp_path / "a").write_text("old")
    (tmp_path / "a.new").write_text("of a crash")

    def fail(new: Path) -> None:
        new.write_text("ha")
        raise OSError(28, "full")

    with (
        pytest.raises(WeftError, match="cannot write"),
        disk.writing(tmp_path / "a"),
        disk.beside(tmp_path / "a") as new,
    ):
        fail(new)
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_rename__need_not_be_durable(tmp_path: Path, trace: Trace) -> None:
    """A log that is put aside waits for no disk."""
    (tmp_path / "a").touch()
    disk.rename(tmp_path / "a", tmp_path / "b", durable=False)
    assert trace.steps == ["rename a b"]


def test_directory__takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    """And the old one is there until then; one that was put aside when the power failed comes back."""
    out = tmp_path / "out"
    (tmp_path / ".out.old").mkdir()
    (tmp_path / ".out.old" / "first").touch()

    def fail(folder: Path) -> None:
        assert names(out) == ["first"]
        (folder / "second").touch()
        raise RuntimeError

    with pytest.raises(RuntimeError), disk.replacing(out, lambda _out: None) as folder:
        fail(folder)
    assert names(out) == ["first"]
    with disk.replacing(out, lambda _out: None) as folder:
        (folder / "second").touch()
    assert names(out) == ["second"]
    assert names(tmp_path) == ["out"]


def test_place__may_be_free_empty_or_one_of_the_same_kind(tmp_path: Path) -> None:
    """Anything else is left alone: a file, a link, somebody's directory, a foreign file in ours."""

    def check(out: Path) -> None:
        disk.check_replaceable(
            out, "nest", is_one=lambda folder: (folder / "egg").exists(), is_ours={"egg", "straw"}.__contains__
        )

    out = tmp_path / "out"
    check(out)
    out.mkdir()
    check(out)
    (out / "straw").touch()
    with pytest.raises(UsageError, match="holds no earlier nest"):
        check(out)
    (out / "egg").touch()
    check(out)
    (out / "stone").touch()
    with pytest.raises(UsageError, match="foreign file in it, stone"):
        check(out)
    (tmp_path / "link").symlink_to(out)
    for place in (out / "egg", tmp_path / "link"):
        with pytest.raises(UsageError, match="directory of its own"):
            check(place)
