"""What can be set of reading pages: settings alone, so that who only starts a crawl need not load
what reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is taken out of a page."""

    requisites: bool = setting(False, "also collect what a page needs to be shown: images, style sheets, scripts")
    link_text: bool = setting(False, "also keep what each link says and its relations (rel), in the columns of links")
    script_links: bool = setting(
        False, "also follow what looks like a link in JavaScript, by pattern; these are of the kind `js`"
    )
    max_links: int = setting(
        20_000, "links of one page, in their order on it; 50,000 of a sitemap, as its protocol has it", at_least=1
    )
    max_expanded_bytes: int = setting(
        20_000_000, "a content that expands beyond this is not read", at_least=1, unit="bytes"
    )
