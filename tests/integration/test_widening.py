"""A crawl that goes on by wider rules: what the old ones refused comes in, and nothing else is fetched twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crawling import rows
from tests.small_site import Answer, SmallSite, links, small_site

from weft.app import Summary, run
from weft.config import Settings
from weft.directory import Plan
from weft.errors import UsageError
from weft.manage import managing

PDF = Answer(b"%PDF-1.4 one", "application/pdf")
MOVED = Answer(status=302, headers=(("Location", "/moved.pdf"),))
PAGES: dict[str, Any] = {
    "/": links("/a/1", "/a.pdf", "/typed", "/b/", "/moved"),
    "/a/1": links("/a/2", "/", "/b.pdf"),
    "/a/2": links("/a/3", "/a.pdf"),
    "/a/3": links("/a/4"),
    "/a/4": links("/a/1"),
    "/b/": links("/b/1"),
    "/b/1": b"x" * 3000,
    "/a.pdf": PDF,
    "/b.pdf": Answer(b"%PDF-1.4 two", "application/pdf"),
    "/typed": Answer(b"%PDF-1.4 three", "application/pdf"),  # what it is, only the server says
    "/moved": MOVED,
    "/moved.pdf": Answer(b"%PDF-1.4 four", "application/pdf"),
}
EVERYTHING = set(PAGES)


@pytest.fixture
def site() -> Iterator[SmallSite]:
    """A site with something that each rule refuses."""
    with small_site(dict(PAGES)) as made:
        yield made


def gather(site: SmallSite, out: Path, *, workers: int = 1, **changes: Any) -> Summary:
    """Run the crawl of it, or go on with it."""
    values: dict[str, Any] = {"wait": 0.0, "per_visit": 50, "retry_pauses": [], "workers": workers} | changes
    settings = Settings().with_values(values, where="a test")
    return run(Plan(seeds=[site.url()], out=out, settings=settings, watched=workers > 1))


def widened(
    site: SmallSite, out: Path, first: dict[str, Any], then: dict[str, Any], *, workers: int = 1
) -> tuple[set[str], Counter[str]]:
    """Crawl by two sets of rules, one after the other; what is missing in the end, and what was asked for when."""
    gather(site, out, workers=workers, **first)
    before = len(site.asked)
    summary = gather(site, out, workers=workers, **then)
    assert (summary.why, summary.pending) == ("done", 0)
    return EVERYTHING - set(site.asked), Counter(site.asked[before:])


@pytest.mark.parametrize("workers", [1, 2])
def test_types__that_were_refused_come_in(site: SmallSite, tmp_path: Path, workers: int) -> None:
    """By file name, by what the server said, and behind a redirect; nothing else is asked for again."""
    out = tmp_path / "types"
    missing, again = widened(site, out, {}, {"types": ["pdf"]}, workers=workers)
    assert missing == set()
    assert again == Counter(["/a.pdf", "/b.pdf", "/typed", "/moved.pdf"])
    stored = {url for (url,) in rows(out, "url", "volume is not null and declared_type = 'application/pdf'")}
    assert stored == {site.url(path) for path in ("/a.pdf", "/b.pdf", "/typed", "/moved.pdf")}


@pytest.mark.parametrize(
    ("first", "then", "again"),
    [
        ({"max_depth": 1}, {"max_depth": 9}, ["/a/2", "/a/3", "/a/4", "/b/1"]),
        ({"max_depth_dynamic": 0, "max_depth": 2}, {"max_depth": 3}, ["/a/3"]),
        ({"include": ["/a"]}, {}, ["/b/", "/b/1", "/typed", "/moved"]),
        ({"include": ["/a"]}, {"include": ["/a", "/b/$"]}, ["/b/"]),
        ({"exclude": ["/a/2", "/b"]}, {"exclude": ["/b"]}, ["/a/2", "/a/3", "/a/4"]),
        ({"max_site_pages": 3}, {"max_site_pages": 99}, ["/b/", "/moved", "/a/2", "/a/3", "/a/4", "/b/1"]),
        ({"scope": "list"}, {"scope": "site"}, ["/a/1", "/a/2", "/a/3", "/a/4", "/b/", "/b/1", "/typed", "/moved"]),
        ({"max_bytes_page": 1000}, {"max_bytes_page": 5000}, ["/b/1"]),
        ({"max_url": 26}, {"max_url": 99}, None),
    ],
    ids=["depth", "further", "no-include", "include", "exclude", "site-pages", "scope", "bytes", "url"],
)
def test_limits__that_refused_let_it_in(
    site: SmallSite, tmp_path: Path, first: dict[str, Any], then: dict[str, Any], again: list[str] | None
) -> None:
    """Each rule that can be wider."""
    missing, asked = widened(site, tmp_path / "wider", first, then)
    if again is not None:
        assert asked == Counter(again)
    elif asked:
        assert max(asked.values()) == 1
    if then != {"max_depth": 3} and "include" not in then and "exclude" not in then:
        assert missing <= {"/a.pdf", "/b.pdf", "/moved.pdf"}


def test_cut__pages_are_whole_in_the_end(site: SmallSite, tmp_path: Path) -> None:
    """The limit is raised as the summary says: the page is there in full, and nothing is cut any more."""
    out = tmp_path / "cut"
    assert gather(site, out, max_bytes_page=1000).counts.truncated == {"length": 1}
    assert gather(site, out, max_bytes_page=5000).counts.truncated == {}
    found = rows(out, "bytes, truncated", f"url = '{site.url('/b/1')}' order by fetched_at")
    assert found == [(1000, "length"), (3000, None)]


def test_totals__do_not_name_types_that_are_collected_by_now(site: SmallSite, tmp_path: Path) -> None:
    """What came in is no longer left out."""
    assert gather(site, tmp_path / "x").counts.unwanted == {"application/pdf": 4}
    assert gather(site, tmp_path / "x", types=["pdf"]).counts.unwanted == {}


def test_rules__three_times_wider(site: SmallSite, tmp_path: Path) -> None:
    """Run by run, with other numbers of workers; every page is stored once in the end."""
    out = tmp_path / "x"
    gather(site, out, max_depth=1)
    gather(site, out, max_depth=3, workers=2)
    gather(site, out, max_depth=3, types=["pdf"])
    before = len(site.asked)
    gather(site, out, max_depth=9, types=["all"], workers=2)
    gather(site, out, max_depth=9, types=["all"])
    assert site.asked[before:] == ["/a/4"]
    stored = Counter(url for (url,) in rows(out, "url", "volume is not null and kind <> 'robots'"))
    assert stored == Counter(site.url(path) for path in EVERYTHING)


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        ({}, {"max_depth": 3}, "its max_depth was 15, and is now 3"),
        ({}, {"include": ["/a"]}, "its include were none, and are now /a"),
        ({}, {"exclude": ["/a"]}, "its exclude were none, and are now /a"),
        ({"scope": "all"}, {}, "its scope was all, and is now site"),
        ({}, {"robots": "ignore"}, "its robots was obey, and is now ignore"),
    ],
)
def test_narrower__is_refused_in_plain_words(
    site: SmallSite, tmp_path: Path, first: dict[str, Any], then: dict[str, Any], said: str
) -> None:
    """What is found is found; nothing is asked for."""
    gather(site, tmp_path / "x", **first)
    before = len(site.asked)
    with pytest.raises(UsageError, match=said):
        gather(site, tmp_path / "x", **then)
    assert len(site.asked) == before


def test_narrower__types_and_sizes_hold_from_then_on(site: SmallSite, tmp_path: Path) -> None:
    """What is collected may be less from now on, without harm."""
    gather(site, tmp_path / "x", types=["pdf"], max_pages=1)
    summary = gather(site, tmp_path / "x", max_bytes_page=1000)
    assert summary.why == "done"
    assert summary.counts.truncated == {"length": 1}
    assert "/b.pdf" not in site.asked


def killed(site: SmallSite, out: Path, point: str, call: int, when: str, **changes: Any) -> None:
    """Run the crawl in a process of its own that dies at a point."""
    code = (
        "import json, sys; from pathlib import Path; import weft.app; from tests.doomed import doom; "
        "from tests.integration.test_widening import gather; from tests.small_site import SmallSite; "
        "port, out, point, call, when, changes = sys.argv[1:]; doom(point, int(call), when); "
        "gather(SmallSite({}, int(port)), Path(out), **json.loads(changes))"
    )
    arguments = [str(site.port), str(out), point, str(call), when, json.dumps(changes)]
    died = subprocess.run([sys.executable, "-c", code, *arguments], check=False, capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr


@pytest.mark.parametrize(
    ("point", "when"),
    [
        ("weft.app:write_settings", "after"),
        ("weft.widening:_seal", "after"),
        ("weft.frontier.shared.sqlite_groups:bring", "after"),
        ("weft.frontier.shared.sqlite:SqliteFrontier.offer_again", "after"),
        ("weft.work:work", "before"),
        ("weft.frontier.local.commits:Commits.written", "after"),
    ],
)
def test_killed__in_the_middle_the_same_command_does_it_all(
    site: SmallSite, tmp_path: Path, point: str, when: str
) -> None:
    """Wherever it dies, the same command again brings everything, and nothing twice."""
    out = tmp_path / "x"
    gather(site, out, max_depth=2)
    killed(site, out, point, 1, when, types=["pdf"])
    summary = gather(site, out, types=["pdf"])
    assert (summary.why, summary.pending) == ("done", 0)
    assert set(site.asked) == EVERYTHING
    assert {path for path, count in Counter(site.asked).items() if count > 1} == {"/typed"}
    assert Counter(site.asked)["/typed"] == 2


@pytest.mark.parametrize("call", [2, 3, 4])
def test_killed__before_it_is_made_wider(site: SmallSite, tmp_path: Path, call: int) -> None:
    """What no commit of the killed run covers is not taken for fetched; what one covers is not fetched again."""
    out = tmp_path / "x"
    killed(site, out, "weft.frontier.local.commits:Commits.write", call, "before", commit_every=0.02, per_visit=1)
    gather(site, out, types=["pdf"])
    assert set(site.asked) == EVERYTHING
    final = Counter(url for (url,) in rows(out, "url", "final and kind <> 'robots' and reason is null"))
    assert final == Counter(site.url(path) for path in EVERYTHING)


def test_add__of_a_page_that_was_not_kept(site: SmallSite, tmp_path: Path) -> None:
    """A seed that is named is stored, also where it was found before and refused by its type."""
    out = tmp_path / "x"
    gather(site, out)
    with managing(out) as managed:
        managed.add([site.url("/typed"), site.url("/a.pdf"), site.url("/a/1")])
    before = len(site.asked)
    gather(site, out)
    assert sorted(site.asked[before:]) == ["/a.pdf", "/typed"]
    stored = {url for (url,) in rows(out, "url", "volume is not null and declared_type = 'application/pdf'")}
    assert stored == {site.url("/typed"), site.url("/a.pdf")}


def test_nofollow__links_stay_out(tmp_path: Path) -> None:
    """What a page asks not to be followed is in the links too, and does not come in with wider rules."""
    page = b'<meta name="robots" content="nofollow"><a href="/b.pdf">x</a>'
    pages = {"/": b'<a href="/a.pdf" rel="nofollow">x</a><a href="/c.pdf">x</a><a href="/shy">x</a>', "/shy": page}
    with small_site(pages | dict.fromkeys(("/a.pdf", "/b.pdf", "/c.pdf"), PDF)) as site:
        gather(site, tmp_path / "x")
        gather(site, tmp_path / "x", types=["pdf"])
        assert sorted(site.asked) == ["/", "/c.pdf", "/shy"]


@pytest.mark.parametrize(
    ("external", "asked"), [("deep-link", ["/", "/x"]), ("home-page", ["/"]), ("combined", ["/", "/x"])]
)
def test_external__links_mean_what_they_mean(external: str, asked: list[str], tmp_path: Path) -> None:
    """A link to another site stands for its home page, for itself or for both, when it comes in later too."""
    with small_site({"/": links("/x") if external == "deep-link" else b"", "/x": links("/")}) as other:
        with small_site({"/": links(other.url("/x"))}) as site:
            gather(site, tmp_path / "x", external=external)
            assert other.asked == []
            gather(site, tmp_path / "x", external=external, scope="all")
        assert sorted(other.asked) == asked
