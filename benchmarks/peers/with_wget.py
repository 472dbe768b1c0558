"""GNU Wget: one request at a time, breadth-first, by its recursive mode.

Needs `wget` (Debian's package of that name). It cannot be given a name server, so it goes through the proxy. It keeps
nothing (`--delete-after`), goes to every host (`--span-hosts`) and to any depth. Of its defaults two are changed, so
that one silent server does not hold it for a quarter of an hour: 10 seconds of silence, and two tries. It obeys
robots.txt.
"""

from __future__ import annotations

import shutil

from benchmarks.peers import Peer, Task


def command(task: Task) -> list[str]:
    """How it is started."""
    proxy = f"http://127.0.0.1:{task.bed.proxy_port}"
    wget = ["wget", "--recursive", "--level=inf", "--span-hosts", "--delete-after", "--no-verbose"]
    wget += [f"--input-file={task.seeds}", f"--directory-prefix={task.folder / 'files'}"]
    wget += ["-e", "use_proxy=yes", "-e", f"http_proxy={proxy}", "-e", f"https_proxy={proxy}"]
    wget += ["--timeout=10", "--tries=2", f"--wait={task.wait:g}"]
    return wget if task.bed.ca_file is None else [*wget, f"--ca-certificate={task.bed.ca_file}"]


def _missing() -> str:
    return "" if shutil.which("wget") else "wget, by the system's package manager"


PEER = Peer("wget", "proxy", _missing, command)
