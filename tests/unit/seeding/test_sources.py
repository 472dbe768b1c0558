"""Names from listings, hosts from indexes, and the order and pace of both."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.seeding.asking import Pace
from weft.seeding.captures import Counting, from_cdx
from weft.seeding.listing import name_in, sort_listing
from weft.seeding.order import by_name, turned, turned_back

LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?", fullmatch=True)
NAME = st.lists(LABEL, min_size=1, max_size=3).map(lambda labels: ".".join([*labels, "test"]))


@given(NAME)
def test_turned__can_be_turned_back(name: str) -> None:
    """Whatever the labels are, numbers too."""
    assert turned_back(turned(name)) == name


@given(st.lists(NAME, max_size=20))
def test_order__keeps_domains_together(names: list[str]) -> None:
    """What is below a name follows it before anything else does."""
    ordered = [url[7:-1] for url in sorted({f"http://{name}/" for name in names}, key=by_name)]
    for name in ordered:
        below = [place for place, other in enumerate(ordered) if other == name or other.endswith(f".{name}")]
        assert below == list(range(below[0], below[0] + len(below)))


@given(st.floats(0.1, 1000), st.lists(st.floats(0, 0.5), min_size=1, max_size=60), st.integers(0, 2))
def test_pace__is_never_above_its_rate(rate: float, pauses: list[float], further: int) -> None:
    """Over any stretch of time there are so many questions a second, and a tenth of a second's more at once."""
    pace, now, asked = Pace(rate), 0.0, list[float]()
    for pause in pauses:
        now += pause
        asked.append(now + pace.wait(now))
        pace.charge(further)
    for first in range(len(asked)):
        for last in range(first, len(asked)):
            questions = 1 + (last - first) * (1 + further)
            assert questions <= rate * (asked[last] - asked[first] + 0.1) + 1 + 1e-6 * questions


def listed(path: Path, text: str | bytes, column: str = "") -> list[str]:
    """The names of a listing with this text."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    sort_listing(path, column, path.with_name("names"))
    return path.with_name("names").read_text(encoding="utf-8").split()


def test_listing__is_sorted_and_has_each_name_once(tmp_path: Path) -> None:
    """However it is written; lines that are no names are counted with their place."""
    chance = random.Random(1)
    names = [f"{chance.choice('abc')}-{number}.{chance.choice(['example', 'test'])}" for number in range(500)]
    lines = [*names, *(name.upper() + "." for name in names[:100]), "# a comment", "no name", "http://x.test/", ""]
    chance.shuffle(lines)
    found = listed(tmp_path / "list", gzip.compress("\n".join(lines).encode()))
    assert found == sorted(set(names), key=turned)
    read = sort_listing(tmp_path / "list", "", tmp_path / "again")
    assert (read.lines, read.names, read.unusable) == (602, 500, 2)
    assert all(str(tmp_path / "list") in line for line in read.shown)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("id,domain\n1,a.test\n2,b.test\n", "domain"),
        ("id;Domain;x\n1;a.test;\n2;b.test;\n", "domain"),
        ("1\ta.test\n2\tb.test\n", "2"),
        ('id,domain\n1,"a.test"\n2,b.test\n', "2"),
        ("domain\na.test\nb.test\n", "domain"),
    ],
)
def test_listing__has_a_column_of_names(tmp_path: Path, text: str, column: str) -> None:
    """By its name or by its number, whatever separates columns."""
    assert listed(tmp_path / "list", text, column) == ["a.test", "b.test"]


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("id,domain\n1,a.test\n", "", "several columns"),
        ("id,domain\n1,a.test\n", "name", "no column 'name'"),
        ("# nothing\n", "", "empty"),
        ("no name\n", "", "no domain name in it"),
    ],
)
def test_listing__says_what_is_wrong_with_it(tmp_path: Path, text: str, column: str, words: str) -> None:
    """With the file, and what to do."""
    with pytest.raises(UsageError, match=words) as raised:
        listed(tmp_path / "list", text, column)
    assert str(tmp_path / "list") in raised.value.where


@given(st.text(max_size=30))
def test_name__is_in_normal_form_or_none(text: str) -> None:
    """No text raises, and a name is its own name."""
    name = name_in(text)
    assert name is None or name_in(name) == name


CDXJ = (
    '{} {}01000000 {{"url": "{}", "mime": "text/html", "status": "{}", "digest": "x", "length": "1", "offset": "0"}}\n'
)


def test_cdx__counts_captures_of_every_form(tmp_path: Path) -> None:
    """CDXJ, CDX with its fields named in another order, and CDX without; packed in several members or plain."""
    (tmp_path / "a.cdxj.gz").write_bytes(
        b"".join(
            gzip.compress(CDXJ.format("k", day, url, status).encode())
            for day, url, status in [
                ("202401", "http://a.test/", 200),
                ("202601", "https://a.test/x", 200),
                ("202601", "https://a.test/y", 404),
                ("202601", "http://b.test:8080/", 200),
            ]
        )
    )
    (tmp_path / "b.cdx").write_text(
        " CDX N a b s m k\nk http://c.test/ 20260102000000 200 text/html x\nk http://c.test/1 20260103000000 - - x\n"
        "k http://a.test/ 20260103000000 200 text/html x\n"
    )
    (tmp_path / "c.cdx").write_text("k 20260102000000 http://b.test:8080/z text/html 200 x 9\nbroken\n")
    files = [tmp_path / name for name in ("a.cdxj.gz", "b.cdx", "c.cdx")]
    found = from_cdx(files, Counting())
    assert [(each.url, each.captures) for each in found.seeds] == [
        ("http://a.test/", 3),  # the scheme of the last one
        ("http://b.test:8080/", 2),
        ("http://c.test/", 1),
    ]
    assert (found.lines, found.captures, found.others, found.unreadable) == (9, 6, 2, 1)
    assert found.unreadable_shown == [f"{tmp_path / 'c.cdx'}, line 2: 'broken'"]
    some = from_cdx(files, Counting(least_captures=2, since="2026-01-01", order="most"))
    assert [each.url for each in some.seeds] == ["http://a.test/", "http://b.test:8080/"]


@pytest.mark.parametrize("value", ["yesterday", "2026-13-01"])
def test_cdx__knows_days(value: str) -> None:
    """A day that is none is refused by its flag, before anything is read."""
    from tests.commands import ending

    code, _, err = ending("seeds", "from-cdx", "x.cdx", "--since", value)
    assert code == 2
    assert "--since" in err


def test_cdx__refuses_an_index_without_statuses(tmp_path: Path) -> None:
    """It cannot be told what was captured well."""
    path: Any = tmp_path / "x.cdx"
    path.write_text(" CDX N b a\nk 20260101000000 http://a.test/\n")
    with pytest.raises(UsageError, match="no time, URL or status"):
        from_cdx([path], Counting())
