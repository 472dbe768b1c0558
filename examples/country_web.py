"""Collect a country's web as Gomes and Silva did (2006, section 3.1): what lies under .PT, and what is written in
Portuguese and linked from there.

Run it: python examples/country_web.py seeds.txt me@example.org

The same from the command line, with the seeds' sites first:

    weft crawl --seeds seeds.txt --out portugal --expansion --application weft.applications:Focused
        --application-options "about=domain:pt or (language:pt and linked-from:pt)" --contact me@example.org
"""

from __future__ import annotations

import sys
from pathlib import Path

import weft
from weft.applications import Focused


def country(domain: str, language: str) -> Focused:
    """Pages of a country: by their domain, or by their language and by who links to them."""
    return Focused(f"domain:{domain} or (language:{language} and linked-from:{domain})")


if __name__ == "__main__":
    seeds, contact = sys.argv[1:3]
    urls = Path(seeds).read_text(encoding="utf-8").split()
    weft.crawl(urls, out="portugal", application=country("pt", "pt"), contact=contact, expansion=True)
