"""Graphs on disk: whole or not there, and what is damaged is told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from weft.clock import VirtualClock
from weft.errors import UsageError, WeftError
from weft.graph import Graph, Recipe, generate
from weft.graph.files import Stored, Urls, check_replaceable, load, save, save_scores

ARRAYS = ("first_page", "offsets", "links", "seeds", "parent", "depth")


@pytest.fixture
def stored() -> Stored:
    """A small graph with everything known."""
    graph = generate(Recipe(sites=5, pages=60), seed=1)
    return Stored(
        graph=graph,
        ids=np.arange(60) * 10,
        urls=Urls.of([f"http://a.test/{page}/\u00e9" for page in range(60)]),
        scores=np.full(60, 1 / 60),
        old_scores=np.where(np.arange(60) % 2, np.nan, 0.5),
        about={"source": "test"},
    )


def test_files__what_is_saved_is_loaded(stored: Stored, tmp_path: Path) -> None:
    """All arrays, mapped and read-only; the URLs; what is said about it, and when it was made."""
    save(stored, tmp_path / "graphs" / "one", clock=VirtualClock(86_400.0))
    again = load(tmp_path / "graphs" / "one")
    for name in ARRAYS:
        assert np.array_equal(getattr(again.graph, name), getattr(stored.graph, name))
    assert again.urls is not None
    assert list(again.urls) == list(stored.urls or [])
    for name in ("ids", "scores", "old_scores"):
        np.testing.assert_array_equal(getattr(again, name), getattr(stored, name))
    assert again.about == {"source": "test", "made": "1970-01-02T00:00:00+00:00"}
    assert again.id_of(np.array([3, 1])).tolist() == [30, 10]
    with pytest.raises(ValueError, match="read-only"):
        again.graph.links[0] = 1


def test_files__what_is_not_known_is_none(stored: Stored, tmp_path: Path) -> None:
    """A graph alone is a graph."""
    save(Stored(graph=stored.graph), tmp_path / "one")
    again = load(tmp_path / "one")
    assert (again.ids, again.urls, again.scores, again.old_scores) == (None, None, None, None)
    assert again.id_of(np.array([3, 1])).tolist() == [3, 1]


def test_files__graph_without_links(tmp_path: Path) -> None:
    """Nothing to map is no damage."""
    save(Stored(graph=Graph.from_links([1], [], parent=[-1])), tmp_path / "one")
    assert load(tmp_path / "one").graph.pages == 1


def test_files__a_graph_is_replaced_and_other_things_are_not(stored: Stored, tmp_path: Path) -> None:
    """Nothing of the old one stays, also while it is in use; nothing is left beside it."""
    save(stored, tmp_path / "one")
    before = load(tmp_path / "one")
    small = Graph.from_links([1, 1], [(0, 1)], parent=[-1, -1])
    save(Stored(graph=small), tmp_path / "one")
    assert load(tmp_path / "one").urls is None
    assert np.array_equal(before.graph.links, stored.graph.links)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text").write_text("years of work")
    for place in (tmp_path / "thesis", tmp_path / "thesis" / "text"):
        with pytest.raises(UsageError, match=r"no earlier graph|directory of its own"):
            check_replaceable(place)
        with pytest.raises(UsageError, match=r"no earlier graph|directory of its own"):
            save(stored, place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "thesis"]


def test_files__nothing_is_half_written(stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full the old graph is there as before."""
    save(Stored(graph=stored.graph), tmp_path / "one")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(WeftError, match="No space left"):
        save(stored, tmp_path / "one")
    with pytest.raises(WeftError, match="No space left"):
        save_scores(tmp_path / "one", np.ones(60), {})
    assert load(tmp_path / "one").scores is None
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    assert not [path for path in (tmp_path / "one").iterdir() if path.name.startswith(".")]


def test_files__scores_are_put_into_a_graph(stored: Stored, tmp_path: Path) -> None:
    """With what they were made by."""
    save(Stored(graph=stored.graph, about={"source": "test"}), tmp_path / "one")
    save_scores(tmp_path / "one", np.arange(60.0), {"epsilon": 0.2})
    again = load(tmp_path / "one")
    assert again.scores is not None
    assert again.scores[7] == 7
    assert again.about["rank"] == {"epsilon": 0.2}


def test_files__no_graph(tmp_path: Path) -> None:
    """Neither a missing directory nor another one is a graph."""
    (tmp_path / "file").write_text("x")
    for place in (tmp_path, tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(UsageError, match="no graph here"):
            load(place)


@pytest.mark.parametrize("name", [*(f"{name}.npy" for name in (*ARRAYS, "ids", "scores", "url_offsets")), "urls.bin"])
def test_files__damage_is_named(stored: Stored, tmp_path: Path, name: str) -> None:
    """A file that is cut off or that holds something else is named."""
    save(stored, tmp_path / "one")
    file = tmp_path / "one" / name
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(UsageError, match=f"damaged.*{name}"):
        load(tmp_path / "one")
    file.write_bytes(b"")
    with pytest.raises(UsageError, match=f"damaged.*{name}"):
        load(tmp_path / "one")
    if name in {"links.npy", "urls.bin", "depth.npy"}:
        file.unlink()
        with pytest.raises(UsageError, match=f"damaged.*{name}"):
            load(tmp_path / "one")
    if name.endswith(".npy"):
        np.save(file, np.zeros(3, dtype=np.float32))
        with pytest.raises(UsageError, match=f"damaged.*{name}"):
            load(tmp_path / "one")


def test_files__other_formats_are_refused(stored: Stored, tmp_path: Path) -> None:
    """A graph of another version says so."""
    save(stored, tmp_path / "one")
    note = tmp_path / "one" / "graph.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "format": 7}))
    with pytest.raises(UsageError, match="format 7"):
        load(tmp_path / "one")
    for text, word in (("{", "cannot read"), ("[]", "format None"), ('{"format": 1}', "does not say")):
        note.write_text(text)
        with pytest.raises(UsageError, match=word):
            load(tmp_path / "one")
