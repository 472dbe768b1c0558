"""The tokenizer of the HTML standard (section 13.2.5), compiled. In: HTML in UTF-8. Out: where in it the attributes
stand that matter.

Each function names the states that it runs through, as the standard does; numbers are those of its sections. A link
needs no tree, so none is built. What tree construction (section 13.2.6) decides about the tokens themselves is followed
in `scan`: which start tags switch the tokenizer to RCDATA, RAWTEXT, script data or PLAINTEXT, what a template holds,
what is foreign content, and whether the document has a body or a frameset. Scripting is off, as the standard calls it:
what <noscript> holds is read. DOCTYPE states (13.2.5.53 to 68) are not told from bogus comments; both end at the first
">", and neither holds a link.

It takes time linear in the length of a page, whatever is in it, and no memory but for what it finds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.compiled import find_byte, inlined, uncounted
from weft.parse.names import (
    ATTRIBUTES,
    BITS,
    BREAKOUT_TAGS,
    ELEMENTS,
    FOREIGN,
    FRAMESET_NOT_OK,
    LONE_HREF,
    RAWTEXT,
    RCDATA,
    SPREAD,
    asked_of,
    places,
    table,
)

_ELEMENTS, _ATTRIBUTES = table(ELEMENTS), table(ATTRIBUTES)
_FOR_LINKS, _FOR_PARTS = asked_of(parts=False), asked_of(parts=True)
_HOLDS_TEXT = places(f"{RAWTEXT} {RCDATA} script")
_BREAKS_OUT, _NOT_OK, _FOREIGN = places(BREAKOUT_TAGS), places(FRAMESET_NOT_OK), places(FOREIGN)
_SVG, _MATH, _LAST_IN_SVG = (int(_FOREIGN[ELEMENTS.index(name)]) for name in ("svg", "math", "title"))
_FRAME, _FRAMESET, _IMAGE, _IMG = map(ELEMENTS.index, ("frame", "frameset", "image", "img"))
_PLAINTEXT, _SCRIPT, _STYLE, _TEMPLATE = map(ELEMENTS.index, ("plaintext", "script", "style", "template"))
_A, _BR, _P = map(ELEMENTS.index, ("a", "br", "p"))
_TEXT, _HREF = map(ATTRIBUTES.index, ("text", "href"))
# Elements that are neither a link, nor switch the tokenizer, nor change what the tags behind them mean, outside of
# foreign content.
_CHANGES_NOTHING = places(f"a svg math plaintext template script {RAWTEXT} {RCDATA}") == 0
_LONGEST = 16  # characters of a name
_DEEPEST = 1 << 56  # fourteen open elements of foreign content, four bits each
_LT, _GT, _SLASH, _EQUALS, _DASH, _BANG, _QUESTION, _AMPERSAND, _CR, _BRACKET = b"<>/=-!?&\r]"
_QUOTE, _APOSTROPHE = b"\"'"
_BOM = tuple(b"\xef\xbb\xbf")
_CDATA = tuple(b"[CDATA[")


@inlined
def _whitespace(byte: int) -> bool:
    """ASCII whitespace: TAB, LF, FF, CR, SPACE."""
    return byte == 32 or (9 <= byte <= 13 and byte != 11)


@inlined
def _ascii_alpha(byte: int) -> bool:
    return 97 <= byte | 32 <= 122


@inlined
def _needs_decoding(byte: int) -> bool:
    """Whether a byte of a text is not itself: a character reference may begin (13.2.5.72), a newline is normalized, a
    NULL is replaced, or the character is not ASCII.
    """
    return byte in (_AMPERSAND, _CR, 0) or byte >= 128


@inlined
def _ascii_lower(byte: int) -> int:
    """A byte of a name, in lowercase; what is not ASCII is in no name that means anything."""
    if 65 <= byte <= 90:
        return byte | 32
    return 127 if byte == 0 or byte >= 128 else byte


@inlined
def _look_up(table: NDArray[np.int64], first: int, second: int) -> int:
    """The number of a name, 0 if it means nothing."""
    slot = (first * SPREAD + second) >> 40 & (1 << BITS) - 1
    while table[slot, 2] and (table[slot, 0] != first or table[slot, 1] != second):
        slot = (slot + 1) & (1 << BITS) - 1
    return int(table[slot, 2])


@uncounted
def _name(data: NDArray[np.uint8], at: int, attribute: bool) -> tuple[int, int, int]:
    """Tag name state (13.2.5.8), or attribute name state (33): the name as two words, and where it ends.

    An "=" at the beginning of an attribute name is a part of it (before attribute name state, 32).
    """
    first = second = length = 0
    while at < data.size:
        byte = int(data[at])
        if _whitespace(byte) or byte in (_SLASH, _GT) or (attribute and byte == _EQUALS and length):
            break
        if length < 8:
            first = first << 8 | _ascii_lower(byte)
        elif length < _LONGEST:
            second = second << 8 | _ascii_lower(byte)
        length += 1
        at += 1
    if length > _LONGEST:
        first = second = 0
    return first, second, at


@uncounted
def _attribute_value(data: NDArray[np.uint8], at: int) -> tuple[int, int, int, bool]:
    """Before attribute value state (13.2.5.35): from where to where the value goes, where its tag goes on, and whether
    anything in it needs decoding. Where the page ends, there is no tag (eof-in-tag).
    """
    size = data.size
    while at < size and _whitespace(data[at]):
        at += 1
    decode = False
    if at < size and data[at] in (_QUOTE, _APOSTROPHE):  # attribute value (double-quoted) (36), (single-quoted) (37)
        quote = data[at]
        at += 1
        begin = at
        while at < size and data[at] != quote:
            decode |= _needs_decoding(data[at])
            at += 1
        return begin, at, at + 1, decode  # after attribute value (quoted) state (39)
    begin = at
    while at < size and data[at] != _GT and not _whitespace(data[at]):  # attribute value (unquoted) state (38)
        decode |= _needs_decoding(data[at])
        at += 1
    return begin, at, at, decode


@uncounted
def _note(rows: NDArray[np.int64], filled: int, what: int, begin: int, end: int, decode: bool) -> int:
    """Write down a value; how many numbers there are then, -1 if there is no room."""
    if filled < 0 or filled + 3 > rows.size:
        return -1
    rows[filled], rows[filled + 1], rows[filled + 2] = what, begin, ~end if decode else end
    return filled + 3


@uncounted
def _attributes(
    data: NDArray[np.uint8], at: int, rows: NDArray[np.int64], filled: int, what: int, asked: int
) -> tuple[int, int, bool]:
    """Before attribute name state (13.2.5.32) up to the end of the tag: where that is (beyond the page, if that ends
    first), how many rows are filled then, and the self-closing flag. What `asked` has among the attributes goes into
    `rows`.
    """
    size = data.size
    self_closing = False
    while at < size:
        byte = data[at]
        if byte == _GT:
            return at + 1, filled, self_closing
        self_closing = byte == _SLASH  # self-closing start tag state (40): the flag is set if ">" is next
        if self_closing or _whitespace(byte):
            at += 1
            continue
        first, second, at = _name(data, at, True)
        while at < size and _whitespace(data[at]):  # after attribute name state (34)
            at += 1
        number = _look_up(_ATTRIBUTES, first, second)
        begin = end = at
        decode = False
        if at < size and data[at] == _EQUALS:
            begin, end, at, decode = _attribute_value(data, at + 1)
        if asked >> number & 1 and number > _TEXT:  # an attribute may be called text, and is none of ours
            asked &= ~(1 << number)  # the first of its name counts (duplicate-attribute)
            filled = _note(rows, filled, what | number, begin, end, decode)
    return size + 1, filled, False


@uncounted
def _skip_attributes(data: NDArray[np.uint8], at: int) -> tuple[int, bool]:
    """The same states (13.2.5.32 to 40) for a tag of which nothing is asked: its end, and the self-closing flag."""
    size = data.size
    self_closing = named = False  # an attribute name is before us, which an "=" would give a value
    while at < size:
        byte = data[at]
        at += 1
        if byte == _GT:
            return at, self_closing
        if byte == _EQUALS and named:
            while at < size and _whitespace(data[at]):
                at += 1
            if at < size and data[at] in (_QUOTE, _APOSTROPHE):
                at = find_byte(data, at + 1, data[at]) + 1
            else:
                while at < size and data[at] != _GT and not _whitespace(data[at]):
                    at += 1
            self_closing = named = False
        elif _whitespace(byte):
            self_closing = False
        else:
            self_closing = byte == _SLASH
            named = not self_closing
    return size + 1, False


@uncounted
def _is_appropriate_end_tag(data: NDArray[np.uint8], at: int, first: int, second: int) -> bool:
    """Whether an appropriate end tag token begins at this "</": RCDATA, RAWTEXT and script data end tag name states
    (13.2.5.11, 14, 17, 25). Looks no further than the longest name.
    """
    found = other = 0
    for position in range(at + 2, min(at + 2 + _LONGEST, data.size)):
        byte = int(data[position])
        if not _ascii_alpha(byte):
            return (_whitespace(byte) or byte in (_SLASH, _GT)) and found == first and other == second
        if position < at + 10:
            found = found << 8 | _ascii_lower(byte)
        else:
            other = other << 8 | _ascii_lower(byte)
    return False


@uncounted
def _end_of_text(data: NDArray[np.uint8], at: int, first: int, second: int) -> int:
    """RCDATA state (13.2.5.2) or RAWTEXT state (3): where the element's end tag stands."""
    while True:
        at = find_byte(data, at, _LT)
        if at + 1 >= data.size:
            return data.size
        if data[at + 1] == _SLASH and _is_appropriate_end_tag(data, at, first, second):
            return at
        at += 1


@uncounted
def _end_of_script(data: NDArray[np.uint8], at: int, first: int, second: int) -> int:
    """Script data state (13.2.5.4): where the script's end tag stands.

    Between "<!--" and "-->" it is escaped (20); a "<script" there makes it double escaped (27), and the next "</script"
    ends that alone.
    """
    size = data.size
    while True:
        at = find_byte(data, at, _LT)
        if at + 1 >= size or (data[at + 1] == _SLASH and _is_appropriate_end_tag(data, at, first, second)):
            return min(at, size)
        if at + 3 < size and data[at + 1] == _BANG and data[at + 2] == _DASH and data[at + 3] == _DASH:
            at += 2  # script data escape start state (18): its own dashes may end it: <!-->
            double_escaped = False
            while at < size and not (
                at + 2 < size and data[at] == _DASH and data[at + 1] == _DASH and data[at + 2] == _GT
            ):
                if data[at] == _LT and at + 1 < size and data[at + 1] == _SLASH:
                    if _is_appropriate_end_tag(data, at, first, second):
                        if not double_escaped:
                            return at
                        double_escaped = False  # script data double escape end state (31)
                elif data[at] == _LT:
                    # Script data double escape start state (26): the same name, behind a "<" instead of a "</".
                    double_escaped |= _is_appropriate_end_tag(data, at - 1, first, second)
                at += 1
        at += 1


@uncounted
def _end_of_comment(data: NDArray[np.uint8], begin: int) -> int:
    """Comment start state (13.2.5.43) to comment end bang state (52): behind the ">" that ends it. That is "-->",
    "--!>", or, at the very beginning, ">" or "->" (abrupt-closing-of-empty-comment).
    """
    at = begin
    while True:
        at = find_byte(data, at, _GT)
        if at >= data.size or at == begin or (at == begin + 1 and data[begin] == _DASH):
            return at + 1
        last = at - 1 if data[at - 1] != _BANG else at - 2
        if last > begin and data[last] == _DASH and data[last - 1] == _DASH:
            return at + 1
        at += 1


@uncounted
def _end_of_cdata_section(data: NDArray[np.uint8], begin: int) -> int:
    """CDATA section state (13.2.5.69) to CDATA section end state (71): behind "]]>"."""
    at = begin
    while True:
        at = find_byte(data, at, _GT)
        if at >= data.size or (at > begin + 1 and data[at - 1] == _BRACKET and data[at - 2] == _BRACKET):
            return at + 1
        at += 1


@inlined
def _is_cdata_section(data: NDArray[np.uint8], at: int) -> bool:
    """Whether "[CDATA[" stands here, behind "<!" (markup declaration open state, 13.2.5.42)."""
    for offset in range(7):  # noqa: SIM110  numba knows no generators
        if at + offset >= data.size or data[at + offset] != _CDATA[offset]:
            return False
    return True


# Foreign content (13.2.6.5). Of the stack of open elements no more is kept than <svg>, <math> and the integration
# points in them, four bits each, the current one lowest.


@inlined
def _in_foreign_content(stack: int) -> bool:
    """Whether a tag here is read by the rules for foreign content: the current node is no integration point."""
    top = stack & 15
    return top in (_SVG, _MATH)


@uncounted
def _after_start_tag(stack: int, element: int, self_closing: bool) -> int:
    """The stack behind a start tag: an <svg> or <math> opens, or an integration point in one of them."""
    number = _FOREIGN[element]
    if _in_foreign_content(stack):
        if _BREAKS_OUT[element]:
            return _leave_foreign_content(stack)
        svg = stack & 15 == _SVG
        opens = number and (number <= _MATH or svg == (number <= _LAST_IN_SVG))
    else:
        opens = number in (_SVG, _MATH)
    return stack << 4 | number if opens and not self_closing and stack < _DEEPEST else stack


@uncounted
def _after_end_tag(stack: int, element: int) -> int:
    """The stack behind an end tag: </p> and </br> break out of foreign content, others close what they name."""
    if _in_foreign_content(stack) and element in (_P, _BR):
        return _leave_foreign_content(stack)
    left = stack
    while left and left & 15 != _FOREIGN[element]:
        left >>= 4
    return left >> 4 if left else stack


@inlined
def _leave_foreign_content(stack: int) -> int:
    """Pop until the current node is an integration point, or HTML."""
    while _in_foreign_content(stack):
        stack >>= 4
    return stack


@uncounted
def _any_needs_decoding(data: NDArray[np.uint8], begin: int, end: int) -> bool:
    """Whether anything in a text needs decoding."""
    decode = False
    for at in range(begin, end):
        decode |= _needs_decoding(data[at])
    return decode


@uncounted
def scan(  # noqa: C901, PLR0915
    data: NDArray[np.uint8], rows: NDArray[np.int64], pieces: NDArray[np.int64], parts: bool
) -> int:
    """Find tags: three numbers for each attribute go into `rows`. The position of its tag, the number of the tag's
    element and its own, in one; where its value begins; and where it ends, complemented if anything in it needs
    decoding. How many numbers these are, or -1 if there is too little room.

    Where `pieces` has room for anything, what <a> holds goes there in the same form, in pieces between tags; its
    first number is how many numbers there are.
    """
    size = data.size
    at = filled = 0
    templates = stack = 0  # templates that are open; foreign content around us
    frameset_ok, frameset = True, False  # the frameset-ok flag; whether the document has a frameset for a body
    link = said = behind = 0  # the link around us, numbers in `pieces`, and where the last tag ended
    if pieces.size:
        said = 1
    if size > 2 and data[0] == _BOM[0] and data[1] == _BOM[1] and data[2] == _BOM[2]:  # decode (13.2.3)
        at = 3
    while at < size and filled >= 0:
        # Data state (13.2.5.1). Text other than whitespace sets the frameset-ok flag to "not ok".
        if frameset_ok and data[at] != _LT:
            frameset_ok = templates > 0 or _whitespace(data[at])
            at += 1
            continue
        # Tag open state (13.2.5.6), end tag open state (7).
        begin = at = find_byte(data, at, _LT)
        after = int(data[at + 1]) if at + 1 < size else 0
        is_end_tag = after == _SLASH
        initial = (int(data[at + 2]) if at + 2 < size else 0) if is_end_tag else after
        is_tag = _ascii_alpha(initial)
        is_markup = is_tag or after in (_BANG, _QUESTION, _SLASH)
        if link and begin > behind and not templates and (is_markup or begin == size):
            said = _note(pieces, said, link | _TEXT, behind, begin, _any_needs_decoding(data, behind, begin))
        # Markup declaration open state (13.2.5.42).
        if after == _BANG and at + 3 < size and data[at + 2] == _DASH and data[at + 3] == _DASH:
            behind = at = _end_of_comment(data, at + 4)
            continue
        if after == _BANG and _in_foreign_content(stack) and _is_cdata_section(data, at + 2):
            behind = at = _end_of_cdata_section(data, at + 9)
            continue
        if not is_tag:
            if is_markup:  # bogus comment state (41), DOCTYPE state (53)
                behind = at = find_byte(data, at, _GT) + 1
            else:  # invalid-first-character-of-tag-name: the "<" is text
                frameset_ok = frameset_ok and templates > 0
                at += 1
            continue
        # Tag name state (13.2.5.8), then the attributes.
        first, second, at = _name(data, at + (2 if is_end_tag else 1), False)
        element = _look_up(_ELEMENTS, first, second)
        if element == _IMAGE and not _in_foreign_content(stack):  # "in body": change the token's tag name to "img"
            element = _IMG
        asked = _FOR_PARTS[element] if parts else _FOR_LINKS[element]
        if is_end_tag or templates or frameset != (element == _FRAME):
            asked = 0
        what = begin << 16 | element << 8
        if asked:
            at, found, self_closing = _attributes(data, at, rows, filled, what, asked)
            if element == _A and found == filled + 3 and rows[filled] & 255 == _HREF:
                rows[filled] += LONE_HREF - _HREF
        elif at < size and data[at] == _GT:
            at, found, self_closing = at + 1, filled, False
        else:
            at, self_closing = _skip_attributes(data, at)
            found = filled
        if at > size:  # eof-in-tag
            break
        # The token is emitted; from here on, what tree construction (13.2.6) makes of it.
        if not frameset_ok and not stack and _CHANGES_NOTHING[element]:
            filled, behind = found, at
            continue
        if element == _A:
            link = what if said and found > filled else 0
        filled, behind = found, at
        if is_end_tag:
            if element == _TEMPLATE and templates:
                templates -= 1
                stack = _leave_foreign_content(stack)
            stack = _after_end_tag(stack, element)
            continue
        is_foreign = _in_foreign_content(stack) and not _BREAKS_OUT[element]
        stack = _after_start_tag(stack, element, self_closing)
        if is_foreign:  # no tag of foreign content switches the tokenizer
            if element == _STYLE and asked >> _TEXT & 1:  # it may hold tags; what stands before them is looked at
                end = find_byte(data, at, _LT)
                filled = _note(rows, filled, what | _TEXT, at, end, _any_needs_decoding(data, at, end))
            continue
        if element == _PLAINTEXT:  # PLAINTEXT state (13.2.5.5): the rest of the page is text
            break
        templates += element == _TEMPLATE
        if frameset_ok and not templates:
            frameset = element == _FRAMESET
            frameset_ok = not frameset and _NOT_OK[element] == 0
        if _HOLDS_TEXT[element]:  # RCDATA state (2), RAWTEXT state (3), script data state (4)
            script = element == _SCRIPT
            end = _end_of_script(data, at, first, second) if script else _end_of_text(data, at, first, second)
            if asked >> _TEXT & 1:
                filled = _note(rows, filled, what | _TEXT, at, end, _any_needs_decoding(data, at, end))
            behind = at = end
    if said < 0:
        return -1
    if said:
        pieces[0] = said
    return filled


@uncounted
def part_spans(rows: NDArray[np.int64], spans: NDArray[np.int64], others: NDArray[np.int64]) -> int:
    """Part the hrefs of plain links, of which begin and end go into `spans`, from all other attributes: these go into
    `others` with the number of those before them. How many plain ones there are, and in the lower half how many others.
    """
    plain = rest = 0
    for row in range(0, rows.size, 3):
        if rows[row] & 255 == LONE_HREF and rows[row + 2] >= 0:
            if rows[row + 2] > rows[row + 1]:
                spans[2 * plain] = rows[row + 1]
                spans[2 * plain + 1] = rows[row + 2]
                plain += 1
            continue
        for number in range(3):
            others[4 * rest + number] = rows[row + number]
        others[4 * rest + 3] = plain
        rest += 1
    return plain << 32 | rest
