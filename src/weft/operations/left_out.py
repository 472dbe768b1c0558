"""What a crawl cut or left out, in words. In: its totals. Out: a line for each that there is, with the option that
changes it.
"""

from __future__ import annotations

from rich.filesize import decimal

from weft.parse.media import option_for

_MOST = 6  # media types that are named


def left_out(
    requisites: dict[str, int], truncated: dict[str, dict[str, int]], unwanted: dict[str, int], max_bytes: int
) -> list[str]:
    """Lines on the parts of pages, on bodies that were cut, and on media types that were not collected.

    >>> left_out({"fetched": 0}, {"pages": {"length": 3}, "requisites": {}}, {"application/pdf": 3}, 2_000_000)[0]
    '3 bodies were cut at max_bytes_page (2 MB): raise --max-bytes-page'
    """
    lines = []
    if requisites["fetched"]:
        failed = f", {requisites['failed']:,} failed" if requisites["failed"] else ""
        lines.append(
            f"{_many(requisites['fetched'], 'requisite')} (images, style sheets, scripts)"
            f"{failed}, {_many(requisites['duplicates'], 'duplicate')}"
        )
    cuts: dict[str, int] = {}
    for what, each in truncated.items():
        for cause, count in each.items():
            key = what if what == "robots" else cause
            cuts[key] = cuts.get(key, 0) + count
    for cause, count in cuts.items():
        were = "body was" if count == 1 else "bodies were"
        if cause == "robots":
            lines.append(f"{_many(count, 'robots.txt file')} read only as far as RFC 9309 demands (500 KiB)")
        elif cause == "length":
            lines.append(f"{count:,} {were} cut at max_bytes_page ({_short(max_bytes)}): raise --max-bytes-page")
        elif cause == "coding":
            ends = "body ends" if count == 1 else "bodies end"
            lines.append(f"{count:,} {ends} before the content coding does, as it was sent; read so far")
        else:
            lines.append(f"{count:,} {were} cut when the time for a page was up: raise --timeout")
    if unwanted:
        lines.append(f"not collected: {_types(unwanted)}")
    return lines


def stored_again(copies: int, unremembered: int) -> list[str]:
    """Lines on contents that are stored more than once, and why.

    >>> stored_again(0, 2)
    ['2 contents could not be remembered: stored whenever they come']
    """
    lines = []
    if copies:
        were = "was" if copies == 1 else "were"
        lines.append(
            f"{_many(copies, 'content')} {were} stored by two workers, before either knew of the other "
            "(a content is shared when it is safe on disk)"
        )
    if unremembered:
        lines.append(f"{_many(unremembered, 'content')} could not be remembered: stored whenever they come")
    return lines


def _types(unwanted: dict[str, int]) -> str:
    counted = sorted(unwanted.items(), key=lambda each: -each[1])
    shown = [f"{name or 'no type'} {count:,} (--types {option_for(name)})" for name, count in counted[:_MOST]]
    more = sum(count for _, count in counted[_MOST:])
    return ", ".join([*shown, *([f"others {more:,} (--types '*/*' takes everything)"] if more else [])])


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _short(amount: int) -> str:
    return decimal(amount).replace(".0 ", " ").replace("bytes", "B")
