"""What an analysis has found, as files; and what people's own files say."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.temporal.made import views_of

from weft.errors import UsageError
from weft.temporal.analysis import Task, find
from weft.temporal.columns import PAGES, pages_table
from weft.temporal.findings import Findings
from weft.temporal.hand_labels import read_labelled, read_sites
from weft.temporal.output import HUB_COLUMNS, KIND, SITE_COLUMNS, check_no_days, check_replaceable, seeds, write_output
from weft.temporal.reading import Taken
from weft.temporal.sites import SiteRules
from weft.temporal.views import Curves, Views

NEWS = {20: 90, 21: 30, 22: 5, 30: 1}
STEADY = dict.fromkeys(range(60), 3)


def findings(views: Views, task: Task | None = None) -> Findings:
    """What there is to be found in views."""
    return find(
        views, Taken(files=1, rows=900, pages=views.pages), task or Task(sites=SiteRules(least_rate=0)), lambda *_: None
    )


@pytest.fixture(scope="module")
def found() -> Findings:
    """Two news pages on a site with a port, one steady page on another."""
    urls = ["https://news.test:8443/1", "https://news.test:8443/2", "http://steady.test/"]
    return findings(views_of(NEWS, {25: 70, 26: 9}, STEADY, urls=urls))


def test_pages__have_the_promised_columns(found: Findings) -> None:
    """In order, each documented, one row a page."""
    table = pages_table(found)
    assert table.schema.equals(PAGES)
    assert all(field.metadata[b"doc"] for field in table.schema)
    assert table["url"].to_pylist() == found.views.urls.to_pylist()
    assert table["views"].to_pylist() == [126, 79, 180]
    assert table["label"].to_pylist() == ["temporal", "temporal", "untemporal"]
    assert table["hub"].to_pylist() == [False, False, True]
    assert (table["activation"][0].as_py(), table["dormancy"][0].as_py()) == (20, 30)


def test_documentation__has_every_column() -> None:
    """With what it means, for pages in the very words that the file itself carries."""
    text = (Path(__file__).parents[3] / "docs" / "temporal.md").read_text(encoding="utf-8")
    for field in PAGES:
        unit, doc = (field.metadata[each].decode() for each in (b"unit", b"doc"))
        assert f"| `{field.name}` | {unit} | {doc} |".replace("|  |", "| |") in text
    for name in (*SITE_COLUMNS, *HUB_COLUMNS):
        assert f"`{name}`" in text


def test_pages__without_a_curve_have_null_and_no_nan(found: Findings) -> None:
    """NaN is not what a reader of Parquet expects of a missing value."""
    curves = Curves(*(np.array([np.nan, 1.0, 1.0]) for _ in range(4)))
    table = pages_table(dataclasses.replace(found, curves=curves))
    assert [table[name].null_count for name in ("A", "b", "mu", "sigma")] == [1, 1, 1, 1]


def test_seeds__are_addresses_where_a_name_would_not_do(found: Findings) -> None:
    """A port needs the scheme of the site's pages; a host alone is enough for the crawler."""
    assert seeds(found) == ["https://news.test:8443/"]
    assert seeds(findings(views_of(NEWS, urls=["http://news.test/1"]))) == ["news.test"]


def test_seeds__leave_out_pages_without_a_site() -> None:
    """Ids that nobody gave a host have nowhere to begin."""
    views = views_of(NEWS, urls=["http://x/17"])
    nameless = dataclasses.replace(views, urls=pa.array(["17"]), sites=pa.array(["-"]))
    assert seeds(findings(nameless)) == []


def test_output__of_no_page_at_all(tmp_path: Path) -> None:
    """Says so, and is whole."""
    summary = write_output(findings(views_of(urls=[])), tmp_path)
    assert summary["pages"] == 0
    assert "No page has views enough" in summary["warnings"][0]
    assert (tmp_path / "seeds.txt").read_text() == ""
    assert (tmp_path / "sites.tsv").read_text().count("\n") == 1
    assert pq.read_table(tmp_path / "pages.parquet").num_rows == 0


def test_output__is_the_same_every_time(found: Findings, tmp_path: Path) -> None:
    """Byte for byte, figures included."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_output(found, tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_output__keeps_columns_apart(tmp_path: Path) -> None:
    """An id may have a tab in it; a line of the files may not have one more column than the others."""
    views = views_of(STEADY, STEADY, urls=["http://site.test/", "http://site.test/x?a=1"])
    write_output(findings(dataclasses.replace(views, sites=pa.array(["a\tb"]))), tmp_path)
    for name in ("sites.tsv", "folders.tsv", "patterns.tsv", "hubs.tsv"):
        head, *rows = [line.split("\t") for line in (tmp_path / name).read_text().splitlines()]
        assert {len(row) for row in rows} == {len(head)}, name


def test_place__of_an_earlier_analysis_may_be_replaced(tmp_path: Path) -> None:
    """And so may an empty directory, or none."""
    check_replaceable(tmp_path)
    check_replaceable(tmp_path / "none")
    (tmp_path / "summary.json").write_text(json.dumps({"kind": KIND}))
    (tmp_path / "sites.tsv").touch()
    check_no_days(tmp_path)


@pytest.mark.parametrize("name", ["notes.txt", "pages.parquet"])
def test_place__of_something_else_is_left_alone(name: str, tmp_path: Path) -> None:
    """A file of ours does not make a directory ours: the summary does."""
    (tmp_path / name).touch()
    with pytest.raises(UsageError, match="holds no earlier analysis"):
        check_replaceable(tmp_path)
    with pytest.raises(UsageError, match="directory of its own"):
        check_replaceable(tmp_path / name)


def test_place__with_a_foreign_file_is_left_alone(tmp_path: Path) -> None:
    """Somebody may have put notes beside the result."""
    (tmp_path / "summary.json").write_text(json.dumps({"kind": KIND}))
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UsageError, match=r"notes\.txt"):
        check_replaceable(tmp_path)


def test_place__with_days_is_not_for_an_analysis_at_once(tmp_path: Path) -> None:
    """It would throw the days away."""
    (tmp_path / "summary.json").write_text(json.dumps({"kind": KIND}))
    (tmp_path / "days").mkdir()
    check_replaceable(tmp_path)
    with pytest.raises(UsageError, match="days"):
        check_no_days(tmp_path)


LABELS = (
    "url,temporal,class\nhttp://a.test/2, Yes,sport\nhttp://a.test/1,0,\nhttp://b.test/,no,\nhttp://a.test/2,true,x\n"
)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_labelled__pages_are_found_among_the_views(kind: str, tmp_path: Path) -> None:
    """By URL, the last label of a page holding; one without views is counted."""
    path = tmp_path / f"labels.{kind}"
    if kind == "csv":
        path.write_text(LABELS)
    else:
        rows = [line.split(",") for line in LABELS.splitlines()[1:]]
        columns = zip(("url", "temporal", "class"), zip(*rows, strict=True), strict=True)
        pq.write_table(pa.table({name: [each.strip() for each in values] for name, values in columns}), path)
    views = views_of(NEWS, NEWS, urls=["http://a.test/1", "http://a.test/2"])
    labelled = read_labelled(path, views, str)
    assert (labelled.page.tolist(), labelled.temporal.tolist(), labelled.unseen) == ([0, 1], [False, True], 1)
    assert labelled.classes is not None
    assert labelled.classes.tolist() == ["", "x"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("page,temporal\nx,1\n", "no column url.*page, temporal.*line 1"),
        ("url,temporal\nhttp://a.test/1,1\nhttp://a.test/1,perhaps\n", "perhaps.*line 3"),
        ("url,temporal\nhttp://c.test/,1\n", "none of the labelled pages"),
        ("", "no column url"),
    ],
    ids=["columns", "neither", "unseen", "empty"],
)
def test_labelled__wrong_files_are_refused(text: str, said: str, tmp_path: Path) -> None:
    """With the line that is wrong, and why."""
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        read_labelled(path, views_of(NEWS, urls=["http://a.test/1"]), str)
    assert str(path) in str(refused.value)
    assert re.search(said, str(refused.value).replace("\n", " "))


def test_sites__of_a_list_in_any_spelling(tmp_path: Path) -> None:
    """Names, addresses and names with ports; comments are none."""
    path = tmp_path / "list.txt"
    path.write_text("# mine\n\nA.test\nhttps://b.test/news/\nc.test:8080\na.test\n")
    assert read_sites(path) == ["a.test", "b.test", "c.test:8080"]


@pytest.mark.parametrize(("text", "said"), [("a.test\nhttp://[x/\n", "line 2"), ("# none\n", "no site")], ids="ab")
def test_sites__of_a_wrong_list(text: str, said: str, tmp_path: Path) -> None:
    """Are refused with the line."""
    path = tmp_path / "list.txt"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_sites(path)
