"""A machine whose network is unplugged for a while: a network namespace with nothing but loopback, where a testbed and
its name server run, and a crawl of it. In: a directory and seconds. Out: what came of it, as JSON.

    unshare --net --map-root-user python -m tests.hostile.unplugged DIRECTORY SECONDS WORKERS [OPTION…]

When the interface is down every packet is lost without a word, those to the name server included.
"""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.crawling import make_web, rows
from tests.patience import PATIENCE
from tests.siege import command_for

from weft.manage import managing
from weft.testbed.bed import serving
from weft.testbed.options import PLAIN

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
SITES, PAGES = 12, 60


def plug(*, up: bool) -> None:
    """Switch the loopback interface of this namespace on or off."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(any_socket, _GET_FLAGS, request), 16)
        flags = flags | _UP if up else flags & ~_UP
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags))


def unplugged(out: Path, seconds: float, workers: int, options: list[str]) -> dict[str, Any]:
    """Crawl, with the network gone for so many seconds; everything else is as usual."""
    plug(up=True)
    with serving(make_web(PLAIN, sites=SITES, pages=PAGES, largest=60)) as bed:
        command = command_for(bed, out, "--wait", "0.3", "--workers", str(workers), "--json", *options)
        crawl = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            _wait_until(lambda: _status(out).pages >= PAGES // 4)
            plug(up=False)
            unplugged_at = time.monotonic()
            _wait_until(lambda: _status(out).outage != "")
            noticed = time.monotonic() - unplugged_at
            time.sleep(max(0.0, seconds - noticed))
            during = _status(out)
            ended = crawl.poll() is not None
            plug(up=True)
            plugged_at = time.monotonic()
            _wait_until(lambda: _status(out).pages > during.pages)
            went_on = time.monotonic() - plugged_at
            printed, said = crawl.communicate()
            wanted = {bed.web.url(page) for page in range(bed.web.graph.pages)}
        finally:
            crawl.kill()
    summary = json.loads(printed)
    had = [url for (url,) in rows(out, "url", "final and status = 200 and kind <> 'robots'")]
    return {
        "code": crawl.returncode,
        "why": summary["why"],
        "ended": ended,
        "outage": during.outage,
        "noticed": noticed,
        "went_on": went_on,
        "missing": len(wanted - set(had)),
        "twice": len(had) - len(set(had)),
        "refused": summary["refused"],
        "failed": rows(out, "count(*)", "final and reason is not null and status = 0")[0][0],
        "said": said,
        "messages": (out / "log" / "messages.log").read_text("utf-8"),
    }


def _status(out: Path) -> Any:
    with managing(out) as managed:
        return managed.status()


def _wait_until(what: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if what():
                return
        except Exception:  # noqa: BLE001, S110  there is no crawl yet
            pass
        time.sleep(0.1)
    raise AssertionError("it never came to pass")


if __name__ == "__main__":
    print(json.dumps(unplugged(Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])))  # noqa: T201
