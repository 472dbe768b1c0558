"""Graphs from text files: what is read, how it is numbered, and what is refused."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.graph import lines, link_lists, page_lists
from weft.graph.assembly import LinkRows, Worth, assemble
from weft.graph.files import Stored
from weft.graph.importing import PER_SITE, import_edges, import_graph

Folder = Callable[..., tuple[Path, Path, Path | None]]

PAGES = "http://a.test/x\nhttp://b.test/\nhttp://a.test/\nhttp://a.test/y\n"
LINKS = "0\t1\n2\t3\n2\t0\n1\t2\n"


@pytest.fixture
def files(tmp_path: Path) -> Folder:
    """Files with these texts, or these bytes."""

    def write(pages: str | bytes, links: str | bytes, seeds: str | None = None) -> Any:
        made: list[Path | None] = []
        for name, text in (("pages.tsv", pages), ("links.tsv", links), ("seeds.txt", seeds)):
            path = tmp_path / name
            if text is not None:
                path.write_bytes(text if isinstance(text, bytes) else text.encode())
            made.append(None if text is None else path)
        return tuple(made)

    return write


def links_by_url(stored: Stored) -> dict[str, list[str]]:
    """The graph as a person would write it down."""
    assert stored.urls is not None
    urls = stored.urls
    return {urls[page]: [urls[target] for target in stored.graph.links_of(page)] for page in range(len(urls))}


def test_import__pages_are_numbered_site_by_site(files: Folder) -> None:
    """Sites come in order of first appearance, the home page first, the others in the order of the file."""
    stored = import_graph(*files(PAGES, LINKS))
    assert stored.urls is not None
    assert list(stored.urls) == ["http://a.test/", "http://a.test/x", "http://a.test/y", "http://b.test/"]
    assert stored.graph.first_page.tolist() == [0, 3, 4]
    assert stored.id_of(np.arange(4)).tolist() == [2, 0, 3, 1]
    assert stored.graph.seeds.tolist() == [0, 3]
    assert stored.graph.parent.tolist() == [-1, 0, 0, -1]
    assert stored.graph.depth.tolist() == [0, 1, 1, 0]


def test_import__a_seed_is_its_sites_home_page(files: Folder) -> None:
    """Seeds keep the order of the file; a site's first one comes first among its pages."""
    stored = import_graph(*files(PAGES, LINKS, "# begun with\n1\nhttp://a.test/y\n\n1\n2\n"))
    assert stored.urls is not None
    assert [stored.urls[seed] for seed in stored.graph.seeds] == ["http://b.test/", "http://a.test/y", "http://a.test/"]
    assert stored.urls[int(stored.graph.first_page[0])] == "http://a.test/y"


def test_import__home_page_by_path_then_url_then_id(files: Folder) -> None:
    """Rule 1: the shortest path (a query is none), then the shortest URL, then the lowest id."""
    pages = "9\thttp://a.test/index\n8\thttp://a.test/?query\n7\thttp://a.test/?q\n6\thttp://a.test/?p\n"
    stored = import_graph(*files(pages, "6\t7\n6\t8\n6\t9\n"))
    assert stored.id_of(stored.graph.seeds).tolist() == [6]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_import__packed_files_by_their_first_bytes(files: Folder, pack: Callable[[bytes], bytes]) -> None:
    """Names do not say how a file is packed."""
    plain = import_graph(*files(PAGES, LINKS))
    packed = import_graph(*files(pack(PAGES.encode()), pack(LINKS.encode())))
    assert links_by_url(packed) == links_by_url(plain)


def test_import__several_packed_streams_in_one_file(files: Folder) -> None:
    """What `cat a.gz b.gz` makes is read to its end."""
    for pack in (gzip.compress, zstandard.compress):
        parts = pack(PAGES[:16].encode()) + pack(PAGES[16:].encode())
        assert import_graph(*files(parts, LINKS)).graph.pages == 4


def test_import__links_as_urls_or_ids_and_ids_far_apart(files: Folder) -> None:
    """Three ways to write the same graph."""
    urls = PAGES.split()
    by_url = "".join(f"{urls[int(a)]}\t{urls[int(b)]}\r\n" for a, b in (line.split() for line in LINKS.splitlines()))
    far = "".join(f"{10**17 * (number + 1)}\t{url}\n" for number, url in enumerate(urls))
    far_links = "".join(
        f"{10**17 * (int(a) + 1)}\t{10**17 * (int(b) + 1)}\n" for a, b in (line.split() for line in LINKS.splitlines())
    )
    wanted = links_by_url(import_graph(*files(PAGES, LINKS)))
    assert links_by_url(import_graph(*files(PAGES, by_url))) == wanted
    stored = import_graph(*files(far, far_links))
    assert links_by_url(stored) == wanted
    assert stored.id_of(np.array([1])).tolist() == [10**17]


def test_import__self_links_and_repeats_are_counted(files: Folder) -> None:
    """The first link of several stays, in its place."""
    stored = import_graph(*files(PAGES, "2\t3\n2\t0\n2\t3\n2\t2\n0\t0\n"))
    assert links_by_url(stored)["http://a.test/"] == ["http://a.test/y", "http://a.test/x"]
    dropped = stored.about["dropped"]
    assert (dropped["unreached"], dropped["self_links"], dropped["repeated_links"]) == (0, 2, 1)


def test_import__unreached_pages_are_dropped_with_a_warning(files: Folder) -> None:
    """So are their links, and sites that have no page left."""
    stored = import_graph(*files(PAGES, LINKS, "2\n"))
    assert stored.about["dropped"]["unreached"] == 0
    stored = import_graph(*files(PAGES, "2\t3\n1\t2\n0\t1\n", "2\n"))
    assert links_by_url(stored) == {"http://a.test/": ["http://a.test/y"], "http://a.test/y": []}
    assert stored.graph.sites == 1
    assert stored.about["warnings"] == ["2 of 4 pages cannot be reached from any seed and were left out"]


def test_import__site_is_host_and_port_of_the_normal_form(files: Folder) -> None:
    """However odd the spelling; the URL's text stays as it was written."""
    same = ["http://a.test/", "HTTP://A.test/1", "https://a.test:443/2", "http://a.test:80/3", "http://a.test/\u00e9"]
    other = [
        "http://a.test:8080/",
        "http://a.test:8080/b?c",
        "http://127.0.0.1/",
        "http://2130706433/x",
        "http://c_d.test",
    ]
    links = "".join(f"0\t{page}\n" for page in range(1, 10))
    stored = import_graph(*files("\n".join(same + other), links, "0\n"))
    assert stored.urls is not None
    assert list(stored.urls) == same + other
    assert stored.graph.first_page.tolist() == [0, 5, 7, 9, 10]


def test_import__graphs_of_the_published_orders(shared: Callable[[str], Path]) -> None:
    """Their pages are in our order already: sites in a row, home pages first."""
    for name, sizes in (("tiny", (3, 11, 26)), ("generated-3000", (60, 3_000, 26_575))):
        folder = shared(f"orders/{name}")
        stored = import_graph(folder / "pages.tsv.gz", folder / "links.tsv.gz", folder / "seeds.txt")
        assert (stored.graph.sites, stored.graph.pages, len(stored.graph.links)) == sizes
        assert np.array_equal(stored.id_of(np.arange(stored.graph.pages)), np.arange(stored.graph.pages))
        with gzip.open(folder / "links.tsv.gz", "rt") as file:
            pairs = np.loadtxt(file, dtype=np.int64)
        source = np.repeat(np.arange(stored.graph.pages), np.diff(stored.graph.offsets))
        by_source = pairs[np.argsort(pairs[:, 0], kind="stable")]
        assert np.array_equal(by_source, np.column_stack([source, stored.graph.links]))


BAD = [
    (PAGES, "0\t1\n1\t4\n", None, ["not in the pages file", "links.tsv, line 2", r"1\t4"]),
    ("5\thttp://a.test/\n", "5\t6\n", None, ["not in the pages file", "links.tsv, line 1"]),
    (PAGES, "http://a.test/\thttp://z.test/\n", None, ["not in the pages file", "links.tsv, line 1", "z.test"]),
    (PAGES, "# c\n\n0\t1\n0x2\n", None, ["no link", "links.tsv, line 4"]),
    (PAGES, "0\t1\n0 \n", None, ["no link", "links.tsv, line 2"]),
    (PAGES, "# c\n0\t1\n\n1\t4\n", None, ["not in the pages file", "links.tsv, line 4", r"1\t4"]),
    (PAGES, "# c\nhttp://a.test/ http://b.test/\n", None, ["no link", "links.tsv, line 2"]),
    (PAGES, "0\t1\t2\n", None, ["no link", "links.tsv, line 1"]),
    (PAGES, "0\n1\n", None, ["no link", "links.tsv, line 1"]),
    (PAGES, "0\t9999999999999999999999\n", None, ["no link", "links.tsv, line 1"]),
    (PAGES, "http://a.test/\n", None, ["no link", "links.tsv, line 1"]),
    (PAGES, "http://a.test/\t\n", None, ["no link", "links.tsv, line 1"]),
    ("", "", None, ["empty", "pages.tsv"]),
    ("http://a.test/\n\nhttp://b.test/\n", "", None, ["no page", "pages.tsv, line 2"]),
    ("1\thttp://a.test/\nhttp://b.test/\n", "", None, ["no page", "pages.tsv, line 2"]),
    ("http://a.test/\n1\thttp://b.test/\n", "", None, ["no page", "pages.tsv, line 2"]),
    ("-1\thttp://a.test/\n", "", None, ["no page", "pages.tsv, line 1"]),
    ("1\thttp://a.test/\n1\thttp://b.test/\n", "", None, ["id 1 is here twice", "pages.tsv, line 2"]),
    ("http://a.test/\nhttp://a.test/\n", "", None, ["twice", "pages.tsv, line 2"]),
    ("http://a.test/\nmailto:me@a.test\n", "", None, ["no URL", "pages.tsv, line 2"]),
    ("http://a.test/\nhttp:///\n", "", None, ["no URL", "pages.tsv, line 2"]),
    (b"http://a.test/\nhttp://a.test/\xff\n", "", None, ["not UTF-8", "pages.tsv, line 2"]),
    (PAGES, LINKS, "0\n\n7\n", ["not in the pages file: 7", "seeds.txt, line 3"]),
    (PAGES, LINKS, "http://z.test/\n", ["not in the pages file", "seeds.txt, line 1"]),
    (PAGES, LINKS, "# none\n", ["no seeds", "seeds.txt"]),
    (gzip.compress(PAGES.encode(), mtime=0)[:-12], LINKS, None, ["unpacked", "pages.tsv"]),
    (zstandard.compress(PAGES.encode())[:-5], LINKS, None, ["unpacked", "pages.tsv"]),
]


@pytest.mark.parametrize(("pages", "links", "seeds", "words"), BAD, ids=range(len(BAD)))
def test_import__bad_input_is_refused_with_file_and_line(
    files: Folder, pages: str | bytes, links: str, seeds: str | None, words: list[str]
) -> None:
    """One message that says where."""
    with pytest.raises(UsageError) as refused:
        import_graph(*files(pages, links, seeds), strict=True)
    for word in words:
        assert word in str(refused.value)


def test_import__pages_without_a_usable_url_are_left_out_and_named(files: Folder) -> None:
    """With their links; the others keep their ids, and the first few are named with their lines."""
    bad = [b"mailto:me@a.test", b"http://b..test/x", b"http://" + b"c" * 64 + b"/", b"http://a.test/\xff", b"nonsense"]
    pages = b"\n".join([b"http://a.test/", *bad, b"http://a.test/x", b"http://d.test/"])
    links = "0\t1\n0\t6\n2\t0\n3\t4\n6\t7\n7\t0\n"
    stored = import_graph(*files(pages, links))
    home, other, last = "http://a.test/", "http://a.test/x", "http://d.test/"
    assert links_by_url(stored) == {home: [other], other: [last], last: [home]}
    assert stored.id_of(np.arange(3)).tolist() == [0, 6, 7]
    assert (stored.about["dropped"]["bad_urls"], stored.about["dropped"]["links_of_bad_urls"]) == (5, 3)
    (warning,) = stored.about["warnings"]
    for word in ("5 pages", "3 links", "line 2", "mailto:me@a.test", "line 3", "line 4", "2 more"):
        assert word in warning
    by_url = "http://a.test/\tmailto:me@a.test\nhttp://a.test/\thttp://a.test/x\n"
    assert links_by_url(import_graph(*files(pages, by_url)))[home] == [other]
    seeded = import_graph(*files(pages, links, "1\n6\n"))
    assert seeded.id_of(seeded.graph.seeds).tolist() == [6]
    with pytest.raises(UsageError, match="no seed has a URL"):
        import_graph(*files(pages, links, "1\n"))
    with pytest.raises(UsageError, match="no page has a URL"):
        import_graph(*files("mailto:me@a.test\n", ""))
    with pytest.raises(UsageError, match=r"mailto.*pages\.tsv, line 2"):
        import_graph(*files(pages, links), strict=True)


# --- edge lists ---

SNAP = """# Directed graph (each unordered pair of nodes is saved once): web.txt
# Nodes: 5 Edges: 5
# FromNodeId\tToNodeId
0\t11342
0\t824020

11342 0
824020   11342\r
 916427 0
"""


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_edges__are_a_graph_by_themselves(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """As the SNAP collection has them: the pages are those that are named, and so many of them are a site."""
    (tmp_path / "web.txt").write_bytes(pack(SNAP.encode()))
    stored = import_edges(tmp_path / "web.txt", per_site=2)
    zero, second, third, fourth = (
        *("http://site0.test/0", "http://site0.test/11342"),
        *("http://site1.test/824020", "http://site1.test/916427"),
    )
    left_out = stored.about["dropped"]["unreached"]
    assert left_out == 1
    assert links_by_url(stored) == {zero: [second, third], second: [zero], third: [second]}
    assert stored.id_of(np.arange(3)).tolist() == [0, 11342, 824020]
    (tmp_path / "seeds.txt").write_text("916427\n")
    seeded = import_edges(tmp_path / "web.txt", tmp_path / "seeds.txt", per_site=1)
    assert (seeded.graph.sites, seeded.graph.pages) == (4, 4)
    assert seeded.urls is not None
    assert seeded.urls[int(seeded.graph.seeds[0])] == fourth.replace("site1", "site3")


def test_edges__equal_the_same_graph_with_a_pages_file(files: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the pieces in which the file is read."""
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 500, (3000, 2))
    ids = np.unique(pairs)
    listed = "".join(f"{page}\thttp://site{at // PER_SITE}.test/{page}\n" for at, page in enumerate(ids.tolist()))
    pages, links, _ = files(listed, "".join(f"{a}\t{b}\n" for a, b in pairs.tolist()))
    wanted = import_graph(pages, links)
    monkeypatch.setattr(link_lists, "chunks", lambda path: lines.chunks(path, 1000))
    found = import_edges(links)
    assert links_by_url(found) == links_by_url(wanted)
    assert np.array_equal(found.graph.seeds, wanted.graph.seeds)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# nothing\n", ["no links", "web.txt"]),
        ("0 1\n\n# c\n1 2 3\n", ["no link", "web.txt, line 4"]),
        ("http://a.test/\thttp://b.test/\n", ["no link", "line 1", "pages file"]),
        ("0 1\n-1 2\n", ["no link", "line 2"]),
    ],
)
def test_edges__bad_input_is_refused_with_file_and_line(tmp_path: Path, text: str, words: list[str]) -> None:
    """One message that says where."""
    (tmp_path / "web.txt").write_text(text)
    with pytest.raises(UsageError) as refused:
        import_edges(tmp_path / "web.txt")
    for word in words:
        assert word in str(refused.value)
    with pytest.raises(UsageError, match="0 pages"):
        import_edges(tmp_path / "web.txt", per_site=0)


def test_edges__of_a_real_crawl(shared: Callable[[str], Path]) -> None:
    """As they were published; three of its 1,212 pages have no link at all."""
    stored = import_edges(shared("graph-ics-analyst/edges.tsv.gz"))
    assert stored.graph.pages + stored.about["dropped"]["unreached"] == 1209
    assert stored.graph.sites == 18


def test_import__line_numbers_count_from_the_beginning_of_the_file(
    files: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the file is read in many pieces."""
    monkeypatch.setattr(link_lists, "chunks", lambda path: lines.chunks(path, 7))
    pages, links, _ = files(PAGES, LINKS * 10)
    assert len(import_graph(pages, links).graph.links) == 4
    with pytest.raises(UsageError, match="line 41"):
        import_graph(*files(PAGES, LINKS * 10 + "0\t4"))


def test_import__missing_file(tmp_path: Path, files: Folder) -> None:
    """The message names it."""
    pages, links, _ = files(PAGES, LINKS)
    with pytest.raises(UsageError, match=r"cannot read.*nothing\.tsv"):
        import_graph(tmp_path / "nothing.tsv", links)
    with pytest.raises(UsageError, match=r"cannot read.*nothing\.tsv"):
        import_graph(pages, links, tmp_path / "nothing.tsv")


def test_import__graph_larger_than_memory(files: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before it is read, by the files' sizes, or as soon as it shows."""
    pages, links, _ = files(PAGES, LINKS * 1000)
    with pytest.raises(UsageError, match="larger than memory"):
        import_graph(pages, links, memory=1000)
    pages, links, _ = files(PAGES, gzip.compress((LINKS * 1000).encode()))
    with pytest.raises(UsageError, match=r"larger than memory.*links\.tsv"):
        import_graph(pages, links, memory=2000)
    monkeypatch.setattr(page_lists, "MOST_PAGES", 3)
    with pytest.raises(UsageError, match="4 pages are too many"):
        import_graph(pages, links)


@given(st.data())
def test_assemble__equals_a_slow_and_plain_one(data: st.DataObject) -> None:
    """Any sites, links and seeds: the same graph as by dictionaries."""
    site = np.array(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=12)))
    site = np.unique(site, return_inverse=True)[1]
    pages = len(site)
    pairs = data.draw(st.lists(st.tuples(st.integers(0, pages - 1), st.integers(0, pages - 1)), max_size=40))
    seeds = data.draw(st.lists(st.integers(0, pages - 1), min_size=1, max_size=4))
    rows = LinkRows(pages)
    for cut in (pairs[:7], pairs[7:]):
        rows.add(np.array([a for a, _ in cut], dtype=np.int64), np.array([b for _, b in cut], dtype=np.int64))
    made = assemble(site.astype(np.int32), rows, seeds=np.array(seeds, dtype=np.int32), worth=Worth.of_order(pages))
    plain: dict[int, list[int]] = {page: [] for page in range(pages)}
    for a, b in pairs:
        if a != b and b not in plain[a]:
            plain[a].append(b)
    depth = dict.fromkeys(seeds, 0)
    queue = list(depth)
    for page in queue:
        for target in plain[page]:
            if target not in depth:
                depth[target] = depth[page] + 1
                queue.append(target)
    former = made.pages.tolist()
    assert sorted(former) == sorted(depth)
    assert [former[seed] for seed in made.graph.seeds] == list(dict.fromkeys(seeds))
    for new, old in enumerate(former):
        assert [former[target] for target in made.graph.links_of(new)] == plain[old]
        assert made.graph.depth[new] == depth[old]
    homes = {int(site[seed]): seed for seed in reversed(seeds)}
    for number in range(made.graph.sites):
        own = [former[page] for page in made.graph.pages_of(number)]
        assert len({int(site[page]) for page in own}) == 1
        assert own[0] == homes.get(int(site[own[0]]), min(own))
        assert own[1:] == sorted(own[1:])
