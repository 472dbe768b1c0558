"""The tokenizer of the HTML standard, compiled. In: HTML in UTF-8. Out: where in it the attributes stand that matter.

A link needs no tree. What the tree decides about the tokens themselves is followed here: which elements hold text
alone, what a template hides, that drawings and formulas have rules of their own, and whether a page is a set of
frames. It takes time linear in the length of a page, whatever is in it, and no memory but for what it finds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.compiled import find_byte, inlined, uncounted
from weft.parse.names import (
    ATTRIBUTES,
    BITS,
    BODY_PARTS,
    DRAWING_ENDERS,
    ELEMENTS,
    LONE_HREF,
    SPREAD,
    SURROUNDINGS,
    TEXT_HOLDERS,
    asked_of,
    places,
    table,
)

_ELEMENTS, _ATTRIBUTES = table(ELEMENTS), table(ATTRIBUTES)
_FOR_LINKS, _FOR_PARTS = asked_of(parts=False), asked_of(parts=True)
_HOLDS_TEXT, _ENDS_DRAWING, _HAS_BODY = places(TEXT_HOLDERS), places(DRAWING_ENDERS), places(BODY_PARTS)
_SURROUNDS = places(SURROUNDINGS)
_SVG, _MATH, _LAST_IN_SVG = (int(_SURROUNDS[ELEMENTS.index(name)]) for name in ("svg", "math", "title"))
_FRAME, _FRAMESET, _IMAGE, _IMG = map(ELEMENTS.index, ("frame", "frameset", "image", "img"))
_PLAINTEXT, _SCRIPT, _STYLE, _TEMPLATE = map(ELEMENTS.index, ("plaintext", "script", "style", "template"))
_A, _BR, _P = map(ELEMENTS.index, ("a", "br", "p"))
_TEXT, _HREF = map(ATTRIBUTES.index, ("text", "href"))
# Elements that are neither a link, nor hold text alone, nor change what the tags behind them mean, outside of drawings.
_CHANGES_NOTHING = places(f"a svg math plaintext template {TEXT_HOLDERS}") == 0
_LONGEST = 16  # signs of a name
_DEEPEST = 1 << 56  # fourteen drawings inside each other, four bits each
_LT, _GT, _SLASH, _EQUALS, _DASH, _BANG, _QUERY, _AND, _RETURN = b"<>/=-!?&\r"


@inlined
def _blank(sign: int) -> bool:
    return sign == 32 or (9 <= sign <= 13 and sign != 11)


@inlined
def _letter(sign: int) -> bool:
    return 97 <= sign | 32 <= 122


@inlined
def _special(sign: int) -> bool:
    """Whether a sign of a text is not plain ASCII that is meant as it stands."""
    return sign in (_AND, _RETURN, 0) or sign >= 128


@inlined
def _lower(sign: int) -> int:
    """A sign of a name; what is not ASCII is in no name that means anything."""
    if 65 <= sign <= 90:
        return sign | 32
    return 127 if sign == 0 or sign >= 128 else sign


@inlined
def _look_up(table: NDArray[np.int64], first: int, second: int) -> int:
    """The number of a name, 0 if it means nothing."""
    place = (first * SPREAD + second) >> 40 & (1 << BITS) - 1
    while table[place, 2] and (table[place, 0] != first or table[place, 1] != second):
        place = (place + 1) & (1 << BITS) - 1
    return int(table[place, 2])


@uncounted
def _name(signs: NDArray[np.uint8], at: int, attribute: bool) -> tuple[int, int, int]:
    """A name, as two words, and where it ends."""
    first = second = length = 0
    while at < signs.size:
        sign = int(signs[at])
        if _blank(sign) or sign in (_SLASH, _GT) or (attribute and sign == _EQUALS and length):
            break
        if length < 8:
            first = first << 8 | _lower(sign)
        elif length < _LONGEST:
            second = second << 8 | _lower(sign)
        length += 1
        at += 1
    if length > _LONGEST:
        first = second = 0
    return first, second, at


@uncounted
def _value(signs: NDArray[np.uint8], at: int) -> tuple[int, int, int, bool]:
    """A value that begins here: from where to where it goes, where its tag goes on, and whether anything in it is
    special. The end of the page is the end of a tag that is none.
    """
    size = signs.size
    while at < size and _blank(signs[at]):
        at += 1
    odd = False
    if at < size and signs[at] in (34, 39):
        quote = signs[at]
        at += 1
        begin = at
        while at < size and signs[at] != quote:
            odd |= _special(signs[at])
            at += 1
        return begin, at, at + 1, odd
    begin = at
    while at < size and signs[at] != _GT and not _blank(signs[at]):
        odd |= _special(signs[at])
        at += 1
    return begin, at, at, odd


@uncounted
def _note(rows: NDArray[np.int64], filled: int, what: int, begin: int, end: int, odd: bool) -> int:
    """Write down a value; how many numbers there are then, -1 if there is no room."""
    if filled < 0 or filled + 3 > rows.size:
        return -1
    rows[filled], rows[filled + 1], rows[filled + 2] = what, begin, ~end if odd else end
    return filled + 3


@uncounted
def _attributes(
    signs: NDArray[np.uint8], at: int, rows: NDArray[np.int64], filled: int, what: int, asked: int
) -> tuple[int, int, bool]:
    """The attributes of a tag: where the tag ends (beyond the page, if that ends first), how many rows are filled
    then, and whether the tag closes itself. What `asked` has among them goes into `rows`.
    """
    size = signs.size
    closes = False
    while at < size:
        sign = signs[at]
        if sign == _GT:
            return at + 1, filled, closes
        closes = sign == _SLASH
        if closes or _blank(sign):
            at += 1
            continue
        first, second, at = _name(signs, at, True)
        while at < size and _blank(signs[at]):
            at += 1
        number = _look_up(_ATTRIBUTES, first, second)
        begin = end = at
        odd = False
        if at < size and signs[at] == _EQUALS:
            begin, end, at, odd = _value(signs, at + 1)
        if asked >> number & 1 and number > _TEXT:  # an attribute may be called text, and is none of ours
            asked &= ~(1 << number)  # the first of its name counts
            filled = _note(rows, filled, what | number, begin, end, odd)
    return size + 1, filled, False


@uncounted
def _past(signs: NDArray[np.uint8], at: int) -> tuple[int, bool]:
    """The same for a tag of which nothing is asked: where it ends, and whether it closes itself."""
    size = signs.size
    closes = named = False  # a name stands before us, which an "=" would give a value
    while at < size:
        sign = signs[at]
        at += 1
        if sign == _GT:
            return at, closes
        if sign == _EQUALS and named:
            while at < size and _blank(signs[at]):
                at += 1
            if at < size and signs[at] in (34, 39):
                at = find_byte(signs, at + 1, signs[at]) + 1
            else:
                while at < size and signs[at] != _GT and not _blank(signs[at]):
                    at += 1
            closes = named = False
        elif _blank(sign):
            closes = False
        else:
            closes = sign == _SLASH
            named = not closes
    return size + 1, False


@uncounted
def _ends(signs: NDArray[np.uint8], at: int, first: int, second: int) -> bool:
    """Whether the end tag of an element begins here, at its "</". Looks no further than the longest name."""
    found = other = 0
    for place in range(at + 2, min(at + 2 + _LONGEST, signs.size)):
        sign = int(signs[place])
        if not _letter(sign):
            return (_blank(sign) or sign in (_SLASH, _GT)) and found == first and other == second
        if place < at + 10:
            found = found << 8 | _lower(sign)
        else:
            other = other << 8 | _lower(sign)
    return False


@uncounted
def _end_of_text(signs: NDArray[np.uint8], at: int, first: int, second: int) -> int:
    """Where the end tag stands of an element that holds text alone."""
    while True:
        at = find_byte(signs, at, _LT)
        if at + 1 >= signs.size:
            return signs.size
        if signs[at + 1] == _SLASH and _ends(signs, at, first, second):
            return at
        at += 1


@uncounted
def _end_of_script(signs: NDArray[np.uint8], at: int, first: int, second: int) -> int:
    """Where a script's end tag stands. Between "<!--" and "-->" a script may hold another, with its own end tag."""
    size = signs.size
    while True:
        at = find_byte(signs, at, _LT)
        if at + 1 >= size or (signs[at + 1] == _SLASH and _ends(signs, at, first, second)):
            return min(at, size)
        if at + 3 < size and signs[at + 1] == _BANG and signs[at + 2] == _DASH and signs[at + 3] == _DASH:
            at += 2  # its own dashes may end it: <!-->
            nested = False
            while at < size and not (
                at + 2 < size and signs[at] == _DASH and signs[at + 1] == _DASH and signs[at + 2] == _GT
            ):
                if signs[at] == _LT and at + 1 < size and signs[at + 1] == _SLASH:
                    if _ends(signs, at, first, second):
                        if not nested:
                            return at
                        nested = False
                elif signs[at] == _LT:
                    nested |= _ends(signs, at - 1, first, second)
                at += 1
        at += 1


@uncounted
def _end_of_comment(signs: NDArray[np.uint8], begin: int) -> int:
    """Behind a comment whose text begins here: "-->", "--!>", or its own first dashes, ">" or "->"."""
    at = begin
    while True:
        at = find_byte(signs, at, _GT)
        if at >= signs.size or at == begin or (at == begin + 1 and signs[begin] == _DASH):
            return at + 1
        last = at - 1 if signs[at - 1] != _BANG else at - 2
        if last > begin and signs[last] == _DASH and signs[last - 1] == _DASH:
            return at + 1
        at += 1


@uncounted
def _end_of_section(signs: NDArray[np.uint8], begin: int) -> int:
    """Behind "]]>"."""
    at = begin
    while True:
        at = find_byte(signs, at, _GT)
        if at >= signs.size or (at > begin + 1 and signs[at - 1] == 93 and signs[at - 2] == 93):
            return at + 1
        at += 1


@inlined
def _is_section(signs: NDArray[np.uint8], at: int) -> bool:
    """Whether "[CDATA[" stands here."""
    return (
        at + 6 < signs.size
        and signs[at] == 91
        and signs[at + 1] == 67
        and signs[at + 2] == 68
        and signs[at + 3] == 65
        and signs[at + 4] == 84
        and signs[at + 5] == 65
        and signs[at + 6] == 91
    )


@inlined
def _drawn(within: int) -> bool:
    """Whether the tags here are a drawing's or a formula's."""
    top = within & 15
    return top in (_SVG, _MATH)


@uncounted
def _behind_start(within: int, element: int, closes: bool) -> int:
    """What surrounds us behind a start tag."""
    place = _SURROUNDS[element]
    if _drawn(within):
        if _ENDS_DRAWING[element]:
            return _outside(within)
        svg = within & 15 == _SVG
        opens = place and (place <= _MATH or svg == (place <= _LAST_IN_SVG))
    else:
        opens = place in (_SVG, _MATH)
    return within << 4 | place if opens and not closes and within < _DEEPEST else within


@uncounted
def _behind_end(within: int, element: int) -> int:
    """What surrounds us behind an end tag."""
    if _drawn(within) and element in (_P, _BR):
        return _outside(within)
    left = within
    while left and left & 15 != _SURROUNDS[element]:
        left >>= 4
    return left >> 4 if left else within


@inlined
def _outside(within: int) -> int:
    """What surrounds a drawing."""
    while _drawn(within):
        within >>= 4
    return within


@uncounted
def _odd(signs: NDArray[np.uint8], begin: int, end: int) -> bool:
    """Whether anything in a text is special."""
    odd = False
    for at in range(begin, end):
        odd |= _special(signs[at])
    return odd


@uncounted
def scan(  # noqa: C901, PLR0915
    signs: NDArray[np.uint8], rows: NDArray[np.int64], pieces: NDArray[np.int64], parts: bool
) -> int:
    """Find tags: three numbers for each attribute go into `rows`. The number of its tag, of the tag's element and its
    own, in one; where its value begins; and where it ends, complemented if anything in it is not plain ASCII that
    is meant as it stands. How many numbers these are, or -1 if there is too little room.

    Where `pieces` has room for anything, what <a> holds goes there in the same form, in pieces between tags; its
    first number is how many numbers there are.
    """
    size = signs.size
    at = filled = 0
    hidden = within = 0  # templates around us; drawings around us
    decided = frameset = False  # whether the page is a set of frames
    link = said = behind = 0  # the link around us, numbers in `pieces`, and where the last tag ended
    if pieces.size:
        said = 1
    if size > 2 and signs[0] == 0xEF and signs[1] == 0xBB and signs[2] == 0xBF:
        at = 3
    while at < size and filled >= 0:
        if not decided and signs[at] != _LT:
            decided = not hidden and not _blank(signs[at])
            at += 1
            continue
        begin = at = find_byte(signs, at, _LT)
        after = int(signs[at + 1]) if at + 1 < size else 0
        ends = after == _SLASH
        initial = (int(signs[at + 2]) if at + 2 < size else 0) if ends else after
        tagged = _letter(initial)
        if link and begin > behind and not hidden and (tagged or after in (_BANG, _QUERY, _SLASH) or begin == size):
            said = _note(pieces, said, link | _TEXT, behind, begin, _odd(signs, behind, begin))
        if after == _BANG and at + 3 < size and signs[at + 2] == _DASH and signs[at + 3] == _DASH:
            behind = at = _end_of_comment(signs, at + 4)
            continue
        if after == _BANG and _drawn(within) and _is_section(signs, at + 2):
            behind = at = _end_of_section(signs, at + 9)
            continue
        if not tagged:
            if after in (_BANG, _QUERY, _SLASH):
                behind = at = find_byte(signs, at, _GT) + 1
            else:
                decided |= not hidden
                at += 1
            continue
        first, second, at = _name(signs, at + (2 if ends else 1), False)
        element = _look_up(_ELEMENTS, first, second)
        if element == _IMAGE and not _drawn(within):
            element = _IMG
        asked = _FOR_PARTS[element] if parts else _FOR_LINKS[element]
        if ends or hidden or frameset != (element == _FRAME):
            asked = 0
        what = begin << 16 | element << 8
        if asked:
            at, found, closes = _attributes(signs, at, rows, filled, what, asked)
            if element == _A and found == filled + 3 and rows[filled] & 255 == _HREF:
                rows[filled] += LONE_HREF - _HREF
        elif at < size and signs[at] == _GT:
            at, found, closes = at + 1, filled, False
        else:
            at, closes = _past(signs, at)
            found = filled
        if at > size:
            break
        if decided and not within and _CHANGES_NOTHING[element]:
            filled, behind = found, at
            continue
        if element == _A:
            link = what if said and found > filled else 0
        filled, behind = found, at
        if ends:
            if element == _TEMPLATE and hidden:
                hidden -= 1
                within = _outside(within)
            within = _behind_end(within, element)
            continue
        drawn = _drawn(within) and not _ENDS_DRAWING[element]
        within = _behind_start(within, element, closes)
        if drawn:
            if element == _STYLE and asked >> _TEXT & 1:  # it may hold tags; what stands before them is looked at
                end = find_byte(signs, at, _LT)
                filled = _note(rows, filled, what | _TEXT, at, end, _odd(signs, at, end))
            continue
        if element == _PLAINTEXT:
            break
        hidden += element == _TEMPLATE
        if not decided and not hidden:
            frameset = element == _FRAMESET
            decided = frameset or _HAS_BODY[element] > 0
        if _HOLDS_TEXT[element]:
            script = element == _SCRIPT
            end = _end_of_script(signs, at, first, second) if script else _end_of_text(signs, at, first, second)
            if asked >> _TEXT & 1:
                filled = _note(rows, filled, what | _TEXT, at, end, _odd(signs, at, end))
            behind = at = end
    if said < 0:
        return -1
    if said:
        pieces[0] = said
    return filled
