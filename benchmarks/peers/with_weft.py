"""weft: its defaults, and every site in the scope, since hazards lie on sites that no seed names.

Needs nothing but this checkout. It asks the testbed's DNS server.
"""

from __future__ import annotations

import sys

from benchmarks.peers import Peer, Task


def command(task: Task) -> list[str]:
    """How it is started."""
    weft = [sys.executable, "-m", "weft", "crawl", "--seeds", str(task.seeds), "--out", str(task.folder / "crawl")]
    weft += ["--scope", "all", "--dns", task.bed.dns, "--allow-address", "127.0.0.0/8", "--allow-address", "::1/128"]
    weft += ["--wait", str(task.wait), "--json"]
    return weft if task.bed.ca_file is None else [*weft, "--ca-file", str(task.bed.ca_file)]


PEER = Peer("weft", "DNS", lambda: "", command)
