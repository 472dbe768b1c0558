r"""The text of an HTML page. In: the page as text. Out: the words that a reader sees, without markup.

>>> page = "<nav><a href=/>Home</a></nav><p>Hello <b>world</b> &amp; all<p>and more<script>1 < 2</script>"
>>> whole_text(page)
'Home\n\nHello world & all\n\nand more'
"""

from __future__ import annotations


def whole_text(page: str) -> str:
    """All words of a page, block by block: also those of its menus and footers."""
    return _extracted(page, main=False)


def main_text(page: str) -> str:
    """The words of what a page is about, as far as its markup tells: without menus, footers and the like."""
    return _extracted(page, main=True)


def _extracted(page: str, *, main: bool) -> str:
    from resiliparse.extract.html2text import extract_plain_text  # not every crawl wants texts

    found: str = extract_plain_text(page, main_content=main, list_bullets=False)
    return found
