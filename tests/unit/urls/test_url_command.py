"""`weft url normalize` as its user meets it."""

from __future__ import annotations

import io
import sys

import pytest

from weft.cli.url import blocks, normalize
from weft.errors import UsageError


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Give the command bytes; get exit code, output lines and complaints."""

    def call(stdin: bytes, **options: object) -> tuple[int, list[str], list[str]]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = normalize(**options)  # type: ignore[arg-type]
        out, err = capsys.readouterr()
        return code, out.splitlines(), err.splitlines()

    return call


def test_normalize__answers_line_by_line(run) -> None:  # type: ignore[no-untyped-def]
    """As many lines come out as went in; an unusable one is empty and explained on standard error."""
    code, out, err = run(b"HTTP://Example.org/%7e\nmailto:a@b\r\nhttp://exa mple/\n/a\nhttp://b.org")
    assert code == 0
    assert out == ["http://example.org/~", "", "", "", "http://b.org/"]
    assert err == ["line 2: scheme: mailto:a@b", "line 3: host: http://exa mple/", "line 4: no-scheme: /a"]


def test_normalize__takes_a_base_and_the_switches(run) -> None:  # type: ignore[no-untyped-def]
    """Relative lines are resolved, and rules 8 and 9 can be switched on."""
    _, out, _ = run(b"b/index.html\n", base="http://example.org/a/", add_www=True, drop_index=True)
    assert out == ["http://www.example.org/a/b/"]


def test_normalize__takes_a_base_without_a_path(run) -> None:  # type: ignore[no-untyped-def]
    """As people type it."""
    code, out, err = run(b"a.html\n/b\n?c\n\n", base="http://www.example.org")
    assert (code, err) == (0, [])
    root = "http://www.example.org/"
    assert out == [f"{root}a.html", f"{root}b", f"{root}?c", root]


def test_normalize__strict_fails_when_any_line_did(run) -> None:  # type: ignore[no-untyped-def]
    """Exit code 1 if a line was unusable, 0 if none was."""
    assert run(b"http://a.org/\n:\n", strict=True)[0] == 1
    assert run(b"http://a.org/\n", strict=True)[0] == 0
    assert run(b"", strict=True) == (0, [], [])


def test_normalize__survives_any_bytes(run) -> None:  # type: ignore[no-untyped-def]
    """Bytes that are no UTF-8 become triplets; control characters in a complaint are written out."""
    code, out, err = run(b"http://a.org/caf\xe9\nx\x1b[2J\xff\n\x00\n")
    assert code == 0
    assert out == ["http://a.org/caf%E9", "", ""]
    assert [line.split(":")[0] for line in err] == ["line 2", "line 3"]
    assert err[0] == "line 2: no-scheme: x\\x1b[2J\\xff"


def test_normalize__refuses_a_base_that_is_none() -> None:
    """Misuse is said before anything is read."""
    with pytest.raises(UsageError, match="--base"):
        normalize(base="example.org")


def test_blocks__answers_before_the_input_ends() -> None:
    """Lines are handed on as soon as they have arrived, however they were cut into reads."""

    class Slow(io.BytesIO):
        def __init__(self) -> None:
            self.reads = [b"a\nb", b"c", b"d\ne\n", b"f"]

        def read1(self, _size: int | None = -1) -> bytes:
            return self.reads.pop(0) if self.reads else b""

    stream = Slow()
    lines = blocks(stream)
    assert next(lines) == ["a"]
    assert stream.reads
    assert list(lines) == [["bcd", "e"], ["f"]]
