"""What pages ask of robots, in tags and headers."""

from __future__ import annotations

import pytest

from weft.parse.directives import Directives, head_directives, header_directives, read_directives


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", Directives()),
        ("index, follow", Directives()),
        ("nofollow", Directives(follow=False)),
        (" NoIndex ;NOARCHIVE", Directives(index=False, archive=False)),
        ("none", Directives(follow=False, index=False)),
        ("nofollower, unfollow", Directives()),
        ("max-snippet:-1, nofollow", Directives(follow=False)),
    ],
)
def test_directives__are_a_list_of_words(content: str, expected: Directives) -> None:
    """Case and separators do not matter, unknown words are ignored."""
    assert read_directives(content) == expected


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
