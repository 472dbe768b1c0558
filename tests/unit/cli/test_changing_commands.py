"""`weft graph generate --changing`, `snapshot`, `happenings` and `weft testbed delays`, as they are called."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from weft.cli import main
from weft.graph.changing.files import load_world
from weft.graph.changing.snapshots import snapshot
from weft.graph.changing.world import DAY
from weft.graph.files import load
from weft.testbed.log import Entry
from weft.testbed.options import PLAIN
from weft.testbed.web import Web

Run = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.xdist_group("changing-commands")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process: its exit code, and what it printed."""

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        return int(ended.value.code or 0), *capsys.readouterr()

    return call


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small world in a directory."""
    path = tmp_path_factory.mktemp("worlds") / "small"
    size = ["--sites", "12", "--pages", "400", "--days", "10", "--news", "0.5", "--seed", "3"]
    with pytest.raises(SystemExit) as ended:
        main(["graph", "generate", "--changing", *size, "--out", str(path)])
    assert not ended.value.code
    return path


def test_generate__a_world_says_what_happens_in_it(run: Run, tmp_path: Path) -> None:
    """Births, deaths and edits are counted; options of change are refused where nothing changes."""
    size = ("--sites", 12, "--pages", 400, "--seed", 3)
    code, out, _ = run("graph", "generate", "--changing", *size, "--days", 10, "--json", "--out", tmp_path / "world")
    told = json.loads(out)
    assert (code, told["pages"], told["about"]["source"]) == (0, 400, "world")
    assert told["edits"] > 0
    code, _, err = run("graph", "generate", *size, "--days", 10, "--out", tmp_path / "still")
    assert (code, "--changing" in err) == (2, True)


def test_snapshot__two_times_are_two_graphs(run: Run, world: Path, tmp_path: Path) -> None:
    """A snapshot is a graph on disk with ids of the world, and the PageRank of an earlier time."""
    code, out, _ = run("graph", "snapshot", world, "--at", "8d", "--earlier", "0d", "--out", tmp_path / "may")
    assert code == 0
    assert "were there earlier" in out
    may, lived = load(tmp_path / "may"), load_world(world)
    assert may.ids is not None
    assert may.old_scores is not None
    assert may.ids.tolist() == snapshot(lived, 8 * DAY).pages.tolist()
    assert (np.isnan(may.old_scores) == (lived.birth[may.ids] > 0)).all()
    assert run("graph", "describe", tmp_path / "may")[0] == 0
    assert run("graph", "snapshot", world, "--at", "1d", "--earlier", "2d", "--out", tmp_path / "x")[0] == 2
    assert run("graph", "snapshot", world, "--at", "soon", "--out", tmp_path / "x")[0] == 2
    assert run("graph", "snapshot", tmp_path / "may", "--at", "1d", "--out", tmp_path / "x")[0] == 2
    assert "--world" in run("testbed", "serve", "--graph", tmp_path / "may")[2]


def test_happenings__are_listed_in_order(run: Run, world: Path) -> None:
    """One line for each birth, edit and death of a stretch of time."""
    code, out, _ = run("graph", "happenings", world, "--begin", "2d", "--end", "4d", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {row["what"] for row in rows} >= {"born", "edited"}
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    assert all(2 * DAY < row["at"] <= 4 * DAY for row in rows)


def test_delays__are_those_of_the_log(run: Run, world: Path, tmp_path: Path) -> None:
    """A log in which every new page is fetched half an hour after its birth has that delay."""
    lived = load_world(world)
    web = Web(lived, PLAIN, lived.seed, port=8080)
    born = np.flatnonzero((lived.birth > 0) & (lived.death > lived.birth + 1800))
    fields = ["\t".join(Entry._fields)]
    for page in born.tolist():
        site = web.authority(int(web.scene.site[page]), secure=False).decode()
        fields.append(
            f"request\t{site}\t127.1.0.1\thttp\t1\t0\t0\t0\tGET\t200\t99\tpage\t{web.path(page).decode()}\tx\t"
            f"{lived.birth[page] + 1800:.3f}"
        )
    log = tmp_path / "requests.tsv"
    log.write_text("\n".join(fields) + "\n", encoding="ascii")
    code, out, _ = run("testbed", "delays", log, "--plain", "--world", world, "--json")
    told = json.loads(out)["all"]
    assert code == 0
    assert (told["found"], told["mean_delay_s"], told["fetches"]) == (len(born), 1800.0, len(born))
    assert told["within_1h"] == pytest.approx(len(born) / told["born"])
    assert run("testbed", "delays", log, "--plain", "--world", world)[0] == 0
    assert run("testbed", "delays", log, "--plain")[0] == 2
    assert run("testbed", "judge", log, "--plain", "--world", world)[0] == 2
    assert run("testbed", "list", "--truth", "--world", world)[0] == 2
    log.write_text("\t".join(Entry._fields[:-1]) + "\n" + fields[1].rpartition("\t")[0] + "\n", encoding="ascii")
    assert "web's time" in run("testbed", "delays", log, "--plain", "--world", world)[2]
