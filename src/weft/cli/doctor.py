"""`weft doctor`: is this machine fit to crawl?"""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
import time
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter

from weft.errors import UsageError
from weft.readiness import PARTS, make_all_ready
from weft.version import __version__

Part = Literal["crawl", "simulate", "temporal", "duplicates", "testbed"]


def doctor(
    *,
    warm: Annotated[
        bool, Parameter(help="Compile the frontier's core now, so that no crawl has to.", negative=())
    ] = False,
    part: Annotated[
        tuple[Part, ...], Parameter(help="With --warm: compile what this needs alone; may be repeated.", negative=())
    ] = (),
    quiet: Annotated[bool, Parameter(help="Say only what is wrong.", negative=())] = False,
    json: Annotated[bool, Parameter(help="As JSON.", negative=())] = False,
) -> int:
    """Look at what a crawl needs of this machine.

    Libraries, open files, processors, disk, name servers. The exit code is 1 if something is wrong.
    """
    if part and not warm:
        raise UsageError("--part says what to compile, and goes with --warm", todo="give --warm, too")
    found = _findings()
    if warm:
        began = time.perf_counter()
        failed = make_all_ready(part or tuple(PARTS))
        text = f"cannot be made: {', '.join(failed)}" if failed else f"ready, {time.perf_counter() - began:.1f} s"
        found.append(("compiled core", text, not failed))
    bad = [finding for finding in found if not finding[2]]
    if json:
        print(msgspec.json.encode([{"what": what, "found": text, "good": good} for what, text, good in found]).decode())
    else:
        for what, text, good in bad if quiet else found:
            print(f"{'ok ' if good else 'BAD'}  {what:<16} {text}")
    return 1 if bad else 0


def _findings() -> list[tuple[str, str, bool]]:
    import pycurl

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = shutil.disk_usage(Path.cwd()).free
    servers = Path("/etc/resolv.conf")
    return [
        ("weft", __version__, True),
        ("Python", platform.python_version(), sys.version_info >= (3, 11)),
        ("system", platform.platform(), sys.platform == "linux"),
        ("processors", str(os.cpu_count()), True),
        ("open files", f"{soft}" if soft >= 4096 else f"{soft}: raise it with `ulimit -n 20000`", soft >= 4096),
        ("disk", f"{free / 1e9:.1f} GB free here", free > 1e9),
        ("libcurl", pycurl.version.split()[1], True),
        ("name servers", "in /etc/resolv.conf" if servers.exists() else "none: give --dns", servers.exists()),
    ]
