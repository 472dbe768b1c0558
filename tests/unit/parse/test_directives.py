"""What pages ask of robots, in tags and headers."""

from __future__ import annotations

import pytest

from weft.parse.directives import asks_not_to_be_kept, head_directives, header_directives, read_directives


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", ""),
        ("index, follow", ""),
        ("all", ""),
        ("nofollow", "nofollow"),
        (" NoIndex ;NOARCHIVE", "noarchive,noindex"),
        ("none", "nofollow,noindex"),
        ("nofollower, unfollow", "nofollower,unfollow"),
        ("max-snippet:-1, nofollow, nofollow", "nofollow,max-snippet:-1"),
        ("unavailable_after:  25 Jun 2010  15:00:00 GMT", "unavailable_after: 25 jun 2010 15:00:00 gmt"),
    ],
)
def test_directives__are_a_list_of_words(content: str, expected: str) -> None:
    """Case and separators do not matter; words that nobody here knows are kept, and decide nothing."""
    directives = read_directives(content)
    assert directives.text == expected
    assert directives.follow is ("nofollow" not in expected.split(","))


def test_directives__are_few_and_short_and_none_that_counts_is_lost() -> None:
    """However many meta tags a page has, what decides something stays."""
    directives = read_directives("noarchive")
    for number in range(1000):
        directives = directives.and_also(read_directives(f"word{number}, {'x' * 300}{number}, aaa"))
    directives = directives.and_also(read_directives(",".join(f"a{number}" for number in range(1000)) + ",none"))
    assert len(directives.words) <= 20
    assert directives.words[:3] == ("noarchive", "nofollow", "noindex")
    assert len(directives.text) <= 200
    long = read_directives(",".join(letter * 40 for letter in "abcdefgh") + ",noarchive")
    assert long.text == "noarchive," + ",".join(letter * 40 for letter in "abcd")
    assert asks_not_to_be_kept(long.text)


@pytest.mark.parametrize(
    ("value", "follow"),
    [
        ("nofollow", False),
        ("noindex, nofollow", False),
        ("weft: nofollow", False),
        ("WEFT : none", False),
        ("*: nofollow", False),
        ("otherbot: nofollow", True),
        ("otherbot: noindex, nofollow", True),
        ("otherbot: noindex, weft: nofollow", False),
        ("weft: noindex, otherbot: nofollow", True),
        ("unavailable_after: 25 Jun 2010 15:00:00 GMT, nofollow", False),
        ("max-snippet: 5, nofollow", False),
        ("", True),
    ],
)
def test_header__may_address_one_robot(value: str, follow: bool) -> None:
    """What stands behind a robot's name is for that robot, until the next name."""
    assert header_directives(value, "weft").follow is follow


@pytest.mark.parametrize(
    ("lines", "follow"),
    [
        ([b"X-Robots-Tag: otherbot: none", b"x-robots-tag: nofollow"], False),
        ([b"X-Robots-Tag: nofollow", b"X-Robots-Tag: otherbot: noindex"], False),
        ([b"X-Robots-Tag: otherbot: noindex", b"X-Robots-Tag: otherbot: nofollow"], True),
        ([b"X-Other: nofollow"], True),
        ([b"X-Robots-Tag : nofollow"], False),
    ],
)
@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_head__each_line_stands_for_itself(lines: list[bytes], end: bytes, follow: bool) -> None:
    """Whom one line addresses says nothing of the next line."""
    head = end.join([b"HTTP/1.1 200 OK", *lines, b"", b""])
    assert head_directives(head, "weft").follow is follow
