"""A first crawl: a synthetic web on this machine, crawled politely with everything on. `make crawl` runs this.

The web has 300 sites under names of their own, robots.txt files, sitemaps, redirects, duplicates, odd charsets, and
links of which 15 % lead to missing or failing pages. Nothing leaves this machine.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path

from weft.graph.generate import generate
from weft.graph.recipe import Recipe
from weft.testbed.bed import serving
from weft.testbed.options import Options
from weft.testbed.web import Web

SEED = 1


def main(out: Path, sites: int, pages: int) -> int:
    """Bring the web up, crawl it, say where the results are."""
    options = Options(hang_s=3.0, retry_after_s=1, crawl_delay_s=0.3)
    web = Web(generate(Recipe(sites=sites, pages=pages, largest_site=100), SEED), options, SEED)
    with serving(web) as bed:
        seeds = out.with_suffix(".seeds.txt")
        seeds.parent.mkdir(parents=True, exist_ok=True)
        seeds.write_text("\n".join(bed.seeds()) + "\n", encoding="utf-8")
        command = ["weft", "crawl", "--seeds", str(seeds), "--out", str(out), "--ordering", "larger-sites-first"]
        command += ["--scope", "all", "--dns", bed.dns, "--allow-address", "127.0.0.0/8"]
        command += ["--wait", "0.2", "--per-visit", "5", "--timeout", "2", "--retry-pauses", "1", "--retry-pauses", "2"]
        print(f"A web of {sites} sites and {pages} pages is up on this machine. The crawl:\n")
        print(f"  {shlex.join(command)}\n", flush=True)
        return subprocess.run([sys.executable, "-m", *command], check=False).returncode


if __name__ == "__main__":
    names = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    name = names[0] if names else f"crawls/{time.strftime('%Y%m%d-%H%M%S')}"
    sys.exit(main(Path(name), *((20, 200) if "--quick" in sys.argv else (300, 6000))))
