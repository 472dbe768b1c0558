"""The report of simulations is whole, readable by others, and does no harm."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow.parquet as pq
import pytest

from weft.cli.simulate import _show as show
from weft.errors import UsageError
from weft.printing import plots
from weft.printing.charts import Areas, Panels, csv_of
from weft.printing.page import Cell, Column, Page
from weft.sim.report import check_replaceable, write_report
from weft.sim.result import Simulated

SCORES = np.array([0.4, 0.1, 0.3, 0.2])
IDS = np.array([100, 101, 102, 103])
VOID = {"meta"}


class Tags(HTMLParser):
    """Follows every tag to its end."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.ids: list[str] = []
        self.labels: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag, its id and its description."""
        if tag not in VOID:
            self.open.append(tag)
        self.seen.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.labels += [value or "" for name, value in attrs if name == "aria-label" and tag == "svg"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag that ends at once."""
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """An end belongs to the last beginning."""
        if tag not in VOID:
            assert self.open.pop() == tag


def parsed(text: str) -> Tags:
    """The tags of a well-formed page."""
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert tags.open == []
    return tags


def simulated(name: str = "opic", order: tuple[int, ...] = (0, 2, 3, 1), **more: Any) -> Simulated:
    """A crawl of one page a second."""
    pages = np.array(order, dtype=np.int32)
    ends = np.arange(1.0, len(order) + 1)
    parameters: dict[str, Any] = {
        "connections": np.int64(1),
        "wait": 15.0,
        "bandwidth": float("inf"),
        "rerank": None,
    } | more
    found = Simulated(name, pages, ends, ends - 1.0, pages // 2, 0.5, 0.4, parameters)
    if not np.isfinite(parameters["bandwidth"]):
        return found
    speed = np.full(len(order), 1_000.0, dtype=np.float32)
    return replace(found, bytes_moved=2_000.0, answered=ends - 0.5, speed=speed)


def written(out: Path, **more: Any) -> dict[str, Any]:
    """A report on two small crawls, one of them with times."""
    results = [simulated(), simulated("breadth-first", (0, 1, 2, 3), bandwidth=1_000.0)]
    given: dict[str, Any] = {"order_out": True, "about": {"title": "Two <crawls>", "warnings": ["3 pages & more"]}}
    return write_report(results, SCORES, IDS, out, **(given | more))


def test_report__summary_holds_every_measure(tmp_path: Path) -> None:
    """What is returned is what is written, and it is plain JSON."""
    summary = written(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == summary
    opic, breadth = summary["orderings"]["opic"], summary["orderings"]["breadth-first"]
    assert opic["average"] == pytest.approx((0.4 + 0.7 + 0.9 + 1.0) / 4)
    assert opic["average"] == pytest.approx(summary["optimal_average"])
    assert opic["tau"] > 0.7
    assert opic["parameters"] == {"connections": 1, "wait": 15.0, "bandwidth": None, "rerank": None}
    assert opic["search_length"]["20%"] == {"pages": 1, "most": 1, "nearly": 1, "whole": 1}
    assert "least_time" not in opic
    assert (breadth["least_time"], breadth["wasted_bandwidth"], breadth["active"]) == (2.0, 0.5, 1.0)
    assert summary["warnings"] == ["3 pages & more"]


def test_report__columns_and_orders_are_read_by_others(tmp_path: Path) -> None:
    """Curves and orders as Parquet, ids as text, in visiting order."""
    written(tmp_path / "out")
    curves = pq.read_table(tmp_path / "out" / "curves.parquet").to_pydict()
    assert curves["ordering"] == ["opic"] * 5 + ["breadth-first"] * 5
    assert curves["pages"] == [0, 1, 2, 3, 4] * 2
    assert curves["fraction"][:5] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert curves["pagerank"][:5] == pytest.approx([0.0, 0.4, 0.7, 0.9, 1.0])
    assert curves["time"][:5] == [0.0, 1.0, 2.0, 3.0, 4.0]
    orders = pq.read_table(tmp_path / "out" / "orders.parquet").to_pylist()
    assert orders[1] == {"ordering": "opic", "position": 2, "id": 102, "finished": 2.0}
    assert [row["id"] for row in orders[4:]] == [100, 101, 102, 103]
    assert (tmp_path / "out" / "order.opic.txt").read_text() == "100\n102\n103\n101\n"


def test_report__orders_only_when_asked_for(tmp_path: Path) -> None:
    """They are by far the largest files."""
    written(tmp_path / "out", order_out=False)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"summary.json", "curves.parquet", "usage.parquet", "index.html", "plots"}


def test_report__page_stands_alone(tmp_path: Path) -> None:
    """Well-formed, escaped, every figure with caption and description, nothing fetched, no id twice."""
    written(tmp_path / "out")
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    tags = parsed(text)
    assert tags.seen.count("figure") == tags.seen.count("figcaption") == len(tags.labels) == 4
    assert all(tags.labels)
    assert len(tags.ids) == len(set(tags.ids))
    assert "Two &lt;crawls&gt;" in text
    assert "3 pages &amp; more" in text
    assert not {"script", "link", "img", "iframe"} & set(tags.seen)
    assert "currentColor" in text


def test_report__every_figure_has_its_files_beside_it(tmp_path: Path) -> None:
    """As SVG, as PNG and as numbers; the page leads to each of them."""
    written(tmp_path / "out")
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    names = {path.stem for path in (tmp_path / "out" / "plots").iterdir()}
    assert names == {"pagerank-by-pages", "pagerank-by-time", "active-robots", "bandwidth"}
    for name in names:
        for kind in ("svg", "png", "csv"):
            assert (tmp_path / "out" / "plots" / f"{name}.{kind}").stat().st_size
            assert f'href="plots/{name}.{kind}"' in text
    assert (tmp_path / "out" / "plots" / "bandwidth.png").read_bytes().startswith(b"\x89PNG")
    rows = (tmp_path / "out" / "plots" / "bandwidth.csv").read_text().splitlines()
    assert rows[0] == "series,seconds from the start,kB a second"
    used = [float(row.split(",")[2]) for row in rows if row.startswith("used,")]
    assert np.mean(used) == pytest.approx(0.5)
    assert sum(row.startswith("wasted,") for row in rows) == len(used)
    usage = pq.read_table(tmp_path / "out" / "usage.parquet").to_pydict()
    assert usage["ordering"] == ["opic"] * 200 + ["breadth-first"] * 200
    assert usage["used"][:200] == [None] * 200
    assert [each / 1_000 for each in usage["used"][200:]] == pytest.approx(used)
    assert usage["robots"] == pytest.approx([1.0] * 400)


def test_report__repeats_have_intervals(tmp_path: Path) -> None:
    """Results of one name with other seeds: means and Student's intervals over all, the curves of the first."""
    orders = ((0, 2, 3, 1), (0, 1, 2, 3), (2, 0, 3, 1))
    results = [simulated("random", order, seed=seed) for seed, order in enumerate(orders, 1)]
    summary = write_report(
        [*results, simulated("opic", seed=1)], SCORES, IDS, tmp_path / "out", order_out=True, about={}
    )
    found = summary["orderings"]["random"]
    averages = [float(np.cumsum(SCORES[list(order)]).mean()) for order in orders]
    assert found["average"] == pytest.approx(averages[0])
    assert found["repeats"]["seeds"] == [1, 2, 3]
    assert found["repeats"]["average"]["mean"] == pytest.approx(np.mean(averages))
    half = 4.303 * float(np.std(averages, ddof=1)) / np.sqrt(3)
    assert found["repeats"]["average"]["half"] == pytest.approx(half, rel=1e-3)
    assert "repeats" not in summary["orderings"]["opic"]
    assert (tmp_path / "out" / "order.random.txt").read_text() == "100\n102\n103\n101\n"
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert f"{np.mean(averages):.3f} ± {half:.3f}" in page


def test_report__speed_ups_stand_first_with_the_bound(tmp_path: Path) -> None:
    """A row for each link, a column for each r, T* beside them, on the page and for programs."""
    one = simulated("length", bandwidth=1_000.0, per_visit=1, seed=1)
    two = replace(simulated("length", bandwidth=1_000.0, per_visit=1, seed=1, connections=2), label="length,r=2")
    two = replace(two, finished=two.finished / 1.6, started=two.started / 1.6)
    summary = write_report([one, two], SCORES, IDS, tmp_path / "out", order_out=False, about={}, same_pages=True)
    rows = [(row["connections"], row["speed_up"], row["least_time"]) for row in summary["speed_ups"]]
    assert rows == [(1, 1.0, 2.0), (2, pytest.approx(1.6), 2.0)]
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert text.index("Speed-ups</h2>") < text.index("Crawls</h2>")
    assert '<td>1 kB/s</td><td class="number">2 s</td><td class="number">1.0</td><td class="number">4 s</td>' in text
    assert (tmp_path / "out" / "plots" / "speed-ups.csv").exists()


def test_report__draws_as_many_lines_as_can_be_told_apart(tmp_path: Path) -> None:
    """Those on the widest link and a crawl that was laid over them; the numbers of all are in the columns."""
    live = replace(simulated("crawl-first"), parameters={"crawl": "first"})
    results = [
        replace(simulated("opic", bandwidth=link, connections=r), label=f"opic,r={r},{link:g}")
        for r in range(1, 9)
        for link in (1_000.0, 500.0)
    ]
    write_report([live, *results], SCORES, IDS, tmp_path / "out", order_out=False, about={}, same_pages=True)
    rows = (tmp_path / "out" / "plots" / "pagerank-by-pages.csv").read_text().splitlines()[1:]
    drawn = {row.rpartition(",")[0].rpartition(",")[0].strip('"') for row in rows}
    assert drawn == {"optimal", "crawl-first", *(f"opic,r={r},1000" for r in range(1, 9))}
    curves = pq.read_table(tmp_path / "out" / "curves.parquet").to_pydict()
    assert len(set(curves["ordering"])) == 17


def test_report__is_the_same_when_written_again(tmp_path: Path) -> None:
    """Byte for byte, over an earlier report, which is replaced whole."""
    written(tmp_path / "out")
    first = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    written(tmp_path / "out")
    again = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert first == again
    written(tmp_path / "out", order_out=False)
    assert not (tmp_path / "out" / "order.opic.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_report__nothing_is_left_of_one_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure in the middle leaves no directory, and an earlier report as it was."""

    def fail(*_: object) -> str:
        raise RuntimeError("no ink")

    with monkeypatch.context() as patched:
        patched.setattr(plots, "svg", fail)
        with pytest.raises(RuntimeError, match="no ink"):
            written(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    written(tmp_path / "out")
    before = (tmp_path / "out" / "summary.json").read_bytes()
    monkeypatch.setattr(plots, "svg", fail)
    with pytest.raises(RuntimeError, match="no ink"):
        written(tmp_path / "out", about={})
    assert (tmp_path / "out" / "summary.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_report__nothing_is_left_when_a_simulation_fails(tmp_path: Path) -> None:
    """Results may come one by one, and the second not at all."""

    def results() -> Iterator[Simulated]:
        yield simulated()
        raise KeyError("second")

    with pytest.raises(KeyError):
        write_report(results(), SCORES, IDS, tmp_path / "out", order_out=True, about={})
    assert list(tmp_path.iterdir()) == []


def test_report__leaves_alone_what_is_no_report(tmp_path: Path) -> None:
    """A directory of something else, a foreign file in a report, and a file are refused; an empty directory is not."""
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "summary.json").write_text('{"kind": "something else"}')
    with pytest.raises(UsageError, match="holds no earlier report"):
        written(tmp_path / "crawl")
    (tmp_path / "file").write_text("text")
    with pytest.raises(UsageError, match="directory of its own"):
        check_replaceable(tmp_path / "file")
    (tmp_path / "out").mkdir()
    written(tmp_path / "out")
    check_replaceable(tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"notes\.txt"):
        written(tmp_path / "out")
    assert (tmp_path / "out" / "notes.txt").exists()


def test_report__takes_up_a_replacement_that_was_interrupted(tmp_path: Path) -> None:
    """The earlier report is put back when the power failed before the new one had its name."""
    written(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / ".out.old")
    (tmp_path / ".out.new").mkdir()
    with pytest.raises(UsageError, match="twice"):
        write_report([simulated(), simulated()], SCORES, IDS, tmp_path / "out", order_out=True, about={})
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["../evil", "", "a/b", ".hidden"])
def test_report__names_of_orderings_stay_in_the_directory(tmp_path: Path, name: str) -> None:
    """A name that would lead elsewhere is refused."""
    with pytest.raises(UsageError, match="file's name"):
        write_report([simulated(name)], SCORES, IDS, tmp_path / "out", order_out=True, about={})


def test_report__needs_matplotlib_for_the_figures_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it everything else is written, with a warning; a figure asked for is refused with what to do."""
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    summary = written(tmp_path / "out")
    assert "matplotlib" in summary["warnings"][-1]
    assert not (tmp_path / "out" / "plots").exists()
    assert "figure" not in parsed((tmp_path / "out" / "index.html").read_text(encoding="utf-8")).seen
    with pytest.raises(UsageError, match=r"needs matplotlib.*weft\[plots\]"):
        plots.lines([], plots.Frame("nothing", "x", "y"))


def test_plots__are_whole_and_the_same_each_time() -> None:
    """Lines beyond the colours, log-log points, bars with spreads: valid SVG with its text as text."""
    many = [plots.Series(f"$s_{i}$ <&>", [1, 2, 3], [i, i + 1, i]) for i in range(12)]
    frame = plots.Frame("What is to be seen", "x", "y")
    logarithmic = plots.Frame("A power law", "size", "sites", x_log=True, y_log=True)
    drawings: list[Callable[[], str]] = [
        lambda: plots.lines(many, frame),
        lambda: plots.scatter([plots.Series("sites", [1, 10, 100], [1e3, 1e2, 1e-3])], logarithmic),
        lambda: plots.bars(
            ["a", "b"], [plots.Bars("ours", [1, 2], [0.5, 1.5], [1.5, 3]), plots.Bars("paper", [1, np.nan])], frame
        ),
    ]
    for draw in drawings:
        svg = draw()
        assert svg == draw()
        texts = {each.text for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314
        assert texts & {"What is to be seen", "A power law"}
        assert 'class="paper"' in svg
        assert "#1f2328" not in svg.partition(">")[2].partition("<rect")[2]
    assert "$s_11$ &lt;&amp;&gt;" in drawings[0]()
    assert "10⁻³" in drawings[1]()


def test_plots__of_areas_and_panels_are_whole() -> None:
    """What was not used is hatched; panels have one legend; PNG comes out the same, byte for byte, too."""
    areas = Areas(
        [
            plots.Series("used", [0, 1], [1, 2]),
            plots.Series("wasted", [0, 1], [2, 1]),
            plots.Series("T*", [0, 1], [3, 3], reference=True),
        ],
        plots.Frame("Bandwidth", "s", "B/s"),
    )
    panels = Panels([areas, areas, areas], plots.Frame("Three", "s", "B/s"))
    for chart in (areas, panels):
        svg = plots.svg(chart)
        assert svg == plots.svg(chart)
        texts = [each.text for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
        assert texts.count("wasted") == 1
        assert "pattern" in svg
        assert plots.png(chart) == plots.png(chart)
    assert csv_of(panels).splitlines()[:2] == ["panel,series,s,B/s", "Bandwidth,used,0,1"]
    assert len(csv_of(panels).splitlines()) == 1 + 3 * 6


def test_page__escapes_everything() -> None:
    """Titles, text, cells, captions and descriptions."""
    page = Page("<t>", "<l>")
    page.section("<s>")
    page.section("second")
    page.heading("<h>")
    page.paragraph("<p>")
    page.bullets(["<b>"])
    page.code("<c>")
    page.warnings(["<w>"])
    page.table([Column("<col>", number=True)], [["<x>"], [Cell("<y>", "bad")]], caption="<cap>")
    page.figure('<?xml version="1.0"?>\n<svg id="a"><use href="#a"/></svg>', caption="<f>", alternative='"><alt>')
    text = page.html()
    tags = parsed(text)
    assert not {"t", "l", "s", "col", "x", "y", "cap", "alt", "w"} & set(tags.seen)
    assert 'href="#f1-a"' in text
    assert "f1-a" in tags.ids


def test_page__a_row_has_as_many_cells_as_columns() -> None:
    """A cell too few is an error where it is made."""
    with pytest.raises(ValueError, match="argument 2"):
        Page("t").table([Column("a"), Column("b")], [["only one"]])


def test_page__tables_can_be_reached_to_be_scrolled() -> None:
    """By the keyboard too, and under a name; the style shades the side where more is to come, words say so wherever
    something is to be scrolled, and the first column stays in sight.
    """
    page = Page("t")
    page.table([Column("a")], [["1"]], caption='Sizes & "shares"')
    frame = '<div class="scroll" tabindex="0" role="region" aria-label="Sizes &amp; &quot;shares&quot;"><table>'
    assert frame in page.html()
    style = page.html().partition("</style>")[0]
    assert "no-repeat local" in style
    assert "no-repeat scroll" in style
    assert "position: sticky" in style.partition(".scroll td:first-child")[2].partition("}")[0]
    assert "animation-timeline: scroll(nearest inline)" in style.partition(".more {")[2].partition("}")[0]
    region = page.html().partition(frame)[2].partition("</div>")[0]
    assert "scroll sideways for more columns</p>" in region.partition("</table>")[2]


def test_summary__warnings_are_shown_as_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Brackets in them are no markup: the extra that is to be installed keeps its name."""
    show({"orderings": {}, "warnings": ["pip install 'weft[plots]'"]}, tmp_path)
    assert "weft[plots]" in capsys.readouterr().out
