"""`weft reproduce`, at a size that says nothing and shows that everything is there."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from tests.commands import completed

from weft.reproduce.report import read_values, write_docs

TINY = ["--sites", "40", "--pages", "1200", "--sweep-pages", "1000", "--seeds", "2"]


def weft(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return completed(*arguments)


def test_reproduce__writes_a_whole_report(tmp_path: Path) -> None:
    """Every value has a verdict, every figure a file, and the same becomes a page of documentation."""
    out = tmp_path / "report"
    done = weft("reproduce", "--out", str(out), *TINY, "--no-live")
    assert done.returncode == 0, done.stderr
    assert "published numbers and sentences" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"report"}  # the graphs are gone
    values = read_values(out)
    assert all(len(each["ours"]) == 2 and each["verdict"] for each in values["values"])
    assert values["notes"] == ["No real graphs were given (--data)."]
    page = (out / "index.html").read_text()
    assert page.count("<figure") == 13
    figures = out / "figures"
    drawn, dotted, data = ({path.stem for path in figures.glob(f"*.{kind}")} for kind in ("svg", "png", "csv"))
    assert len(drawn) == 13
    assert drawn == dotted == data
    docs = tmp_path / "docs"
    docs.mkdir()
    write_docs(values, docs)
    text = (docs / "reproduction.md").read_text()
    linked = re.findall(r"\]\((figures/[^)]+)\)", text)
    assert len(linked) == 13
    assert all((docs / name).exists() for name in linked)
    json.dumps(values, allow_nan=False)


def test_reproduce__refuses_before_it_begins(tmp_path: Path) -> None:
    """A place that is taken, a directory that is not there, a web that is too small."""
    (tmp_path / "mine.txt").write_text("mine")
    for arguments, said in (
        (["--out", str(tmp_path)], "holds no earlier report"),
        (["--out", str(tmp_path / "new"), "--data", str(tmp_path / "none")], "no such directory"),
        (["--out", str(tmp_path / "new"), "--pages", "5"], "too small"),
    ):
        done = weft("reproduce", *arguments)
        assert done.returncode == 2
        assert said in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"mine.txt"}
