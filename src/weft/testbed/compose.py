"""Writing a page's links and text into a buffer. In: a scene, a page, a pool of pieces. Out: bytes. Compiled.

The one part of the testbed that is all about speed: in Python a page would take five times as long.
`weft.testbed.pages` puts the frame around what is written here and says what it should look like.

Invariant: the same page gives the same bytes; no byte is written past what `room` asks for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.testbed.dice import mix
from weft.testbed.links import GONE, MOVED, Scene, chance, most_codes, says_nofollow, write_codes
from weft.testbed.text import AFTER, BEFORE, PIECES, Pool
from weft.testbed.traits import ORIGINAL

ABSOLUTE, RELATIVE = 0.10, 0.35
"""Draws below the first are absolute, below the second relative to the directory, others from the root."""

LINK_BYTES = 113
"""About what a link takes beside its address."""

HALF_PIECE = 430
"""About half a piece: pages end up as often above as below the size they should have."""

_SLASH, _AMPERSAND, _ZERO = ord("/"), ord("&"), ord("0")
_OLD = np.frombuffer(b"/old", dtype=np.uint8)
_HERE = np.frombuffer(b"./", dtype=np.uint8)
_AMP = np.frombuffer(b"amp;", dtype=np.uint8)
_NOFOLLOW = np.frombuffer(b'" rel="nofollow', dtype=np.uint8)
_GONE = np.frombuffer(b"gone-", dtype=np.uint8)
_HTML = np.frombuffer(b".html", dtype=np.uint8)


def room(links: int, size: int, longest_address: int, pool: Pool) -> tuple[int, int]:
    """Bytes that so many addresses on a page, and that all of it, can take at most."""
    addresses = links * longest_address
    return addresses, max(size, 0) + 2 * pool.longest + addresses + links * (pool.longest_link + len(_NOFOLLOW))


@compiled
def _copy(out: NDArray[np.uint8], at: int, text: NDArray[np.uint8], first: int, end: int) -> int:
    """Copy text[first:end]; return where the next byte goes."""
    # Two views of equal length: the compiler sees that no index is negative, and copies 30 bytes at a time.
    source = text[first:end]
    target = out[at : at + end - first]
    for i in range(len(source)):
        target[i] = source[i]
    return at + end - first


@compiled
def _copy_path(out: NDArray[np.uint8], at: int, text: NDArray[np.uint8], first: int, end: int) -> int:
    """Copy text[first:end] and write its ampersands as HTML wants them."""
    for i in range(first, end):
        out[at] = text[i]
        at += 1
        if text[i] == _AMPERSAND:
            at = _copy(out, at, _AMP, 0, len(_AMP))
    return at


@compiled
def _copy_number(out: NDArray[np.uint8], at: int, number: int) -> int:
    """Write a number in decimal digits."""
    digits = 1
    rest = number // 10
    while rest:
        digits += 1
        rest //= 10
    for i in range(digits - 1, -1, -1):
        out[at + i] = _ZERO + number % 10
        number //= 10
    return at + digits


@compiled
def _directory_end(text: NDArray[np.uint8], end: int) -> int:
    """Where in the text of paths the directory of the page ends whose path ends at `end`."""
    while text[end - 1] != _SLASH:
        end -= 1
    return end


@compiled
def _begins_with(text: NDArray[np.uint8], first: int, end: int, here: int, here_end: int) -> bool:
    """Whether text[first:end] begins with text[here:here_end]."""
    if end - first < here_end - here:
        return False
    for i in range(here_end - here):  # noqa: SIM110 -- a generator is not for compiled code
        if text[first + i] != text[here + i]:
            return False
    return True


@compiled
def write_gone_path(scene: Scene, site: int, number: int, out: NDArray[np.uint8], at: int) -> int:
    """Write the path of a missing page: it lies in the directory of a page of its site."""
    first = scene.first_page[site]
    page = first + number % (scene.first_page[site + 1] - first)
    end = _directory_end(scene.path_text, scene.path_offsets[page + 1])
    at = _copy(out, at, scene.path_text, scene.path_offsets[page], end)
    at = _copy(out, at, _GONE, 0, len(_GONE))
    at = _copy_number(out, at, number)
    return int(_copy(out, at, _HTML, 0, len(_HTML)))


@compiled
def _write_hrefs(
    scene: Scene,
    page: int,
    codes: NDArray[np.int64],
    count: int,
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> None:
    """Write the address of each link as the page writes it, one after the other, and where each one ends."""
    # The arrays leave the tuple once: to hand the whole of it to small functions costs more than they do.
    text, offsets, sites = scene.path_text, scene.path_offsets, scene.site
    bases, base_offsets, key = scene.base_text, scene.base_offsets, scene.key
    here, here_end = offsets[page], _directory_end(text, offsets[page + 1])
    relative = ABSOLUTE if scene.special[page] & ORIGINAL else RELATIVE
    at = 0
    for i in range(count):
        code = codes[i]
        if code >= GONE:
            site = code >> 42
            if site != sites[page]:
                at = _copy(out, at, bases, base_offsets[site], base_offsets[site + 1])
            at = write_gone_path(scene, site, code & (MOVED - 1), out, at)
        else:
            target = code & (MOVED - 1)
            site = sites[target]
            first, end = offsets[target], offsets[target + 1]
            form = chance(key, page, 7, i)
            if site != sites[page] or form < ABSOLUTE:
                at = _copy(out, at, bases, base_offsets[site], base_offsets[site + 1])
            elif form < relative and code == target and _begins_with(text, first, end, here, here_end):
                first += here_end - here
                if first == end:
                    at = _copy(out, at, _HERE, 0, len(_HERE))
            if code != target:
                at = _copy(out, at, _OLD, 0, len(_OLD))
            at = _copy_path(out, at, text, first, end)
        ends[i] = at


@compiled
def compose(
    scene: Scene,
    page: int,
    size: int,
    in_menu: int,
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    out: NDArray[np.uint8],
    hrefs: NDArray[np.uint8],
) -> tuple[int, int]:
    """Write the menu, then pieces with the other links spread between them; return where each of them ends.

    Pieces are added until menu and content have the size asked for. `hrefs` is room to write the addresses
    in.
    """
    codes = np.empty(most_codes(scene, page), dtype=np.int64)
    count = write_codes(scene, page, codes)
    ends = np.empty(count + 1, dtype=np.int64)
    _write_hrefs(scene, page, codes, count, hrefs, ends)
    key, nofollow = scene.key, scene.nofollow
    looks = mix(key, -1 - page)
    in_menu = min(in_menu, count)
    menu_end = 0
    wanted = max(size - (ends[count - 1] if count else 0) - count * LINK_BYTES - HALF_PIECE, 1)
    at = 0
    written = 0
    number = 0
    piece = 0
    while written < wanted or number < count:
        if number < in_menu or (number < count and written * (count - in_menu + 1) >= wanted * (number - in_menu + 1)):
            look = mix(looks, -1 - number)
            before = PIECES + int(look % np.uint64(BEFORE))
            after = PIECES + BEFORE + int((look >> np.uint64(32)) % np.uint64(AFTER))
            at = _copy(out, at, text, offsets[before], offsets[before + 1])
            at = _copy(out, at, hrefs, ends[number - 1] if number else 0, ends[number])
            if says_nofollow(key, nofollow, page, number):
                at = _copy(out, at, _NOFOLLOW, 0, len(_NOFOLLOW))
            at = _copy(out, at, text, offsets[after], offsets[after + 1])
            number += 1
            if number == in_menu:
                menu_end = at
        else:
            chosen = int(mix(looks, piece) % np.uint64(PIECES))
            at = _copy(out, at, text, offsets[chosen], offsets[chosen + 1])
            written += offsets[chosen + 1] - offsets[chosen]
            piece += 1
    return menu_end, at
