"""Nodes for tests: processes with directories of their own, that cannot read each other's, on one crawl in a database.
And what they collected together, held against the web.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.commands import completed
from tests.crawling import digests_of
from tests.nursery import nursery
from tests.patience import PATIENCE
from tests.serverside import check_polite, visits_of
from tests.siege import Siege, command_for, descendants, wait_until

from weft.frontier.shared.nodes import NodeState
from weft.frontier.shared.opening import open_cluster
from weft.store.reading import CrawlFiles
from weft.testbed.bed import Bed

CONFINED = Path(__file__).parent / "confined"


def begun(bed: Bed, folder: Path, address: str, *options: str) -> None:
    """Begin a crawl of a whole web in a database, paused."""
    command = command_for(bed, folder / "seeds", *options)[3:]
    place = command.index("--out")
    del command[place : place + 2]
    done = completed("cluster", "init", address, *command[1:])
    assert done.returncode == 0, done.stderr
    pause(address, paused=True)


def pause(address: str, *, paused: bool) -> None:
    """Pause a crawl, or have it go on; at once, where a command would take a second."""
    with closing(open_cluster(address)) as shared:
        shared.pause(paused=paused)


def begin(address: str, *running: Node, already: int = 0) -> None:
    """Wait until all nodes are there, beside those that were before."""

    def all_there() -> bool:
        for node in running:
            assert not node.over, node.told()[-3000:]
        return sum(each.alive for each in standing(address)) == len(running) + already

    wait_until(all_there, "they do not begin")


def together(address: str, *running: Node, already: int = 0) -> None:
    """Have a crawl go on when all nodes are there: else a slow machine has one of them do everything."""
    begin(address, *running, already=already)
    pause(address, paused=False)


def confined(others: list[Path]) -> dict[str, str]:
    """An environment in which no Python can open, list or change what is below some directories."""
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(CONFINED), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "WEFT_TEST_CONFINED": ":".join(f"{other}/" for other in others),
    }


class Node(Siege):
    """A node that is run as a command, in a directory that no other can read."""

    def __init__(self, address: str, root: Path, others: list[Path], *options: str) -> None:
        root.mkdir(exist_ok=True)
        self.root, self.out = root, root / "node"
        self._environment = confined(others)
        command = [sys.executable, "-m", "weft", "node", "start", address, "--out", str(self.out), *options]
        super().__init__(command, root / "output")

    def start(self) -> None:
        """Give the command, from a place of its own."""
        self.process = nursery().command(self._command, self._output, self._environment, str(self.root))

    @property
    def number(self) -> int:
        """Which node of the crawl it is."""
        return int((self.out / "frontier.id").read_text(encoding="ascii").split()[1])

    def told(self) -> str:
        """What it said."""
        return (self.root / "output").read_text(encoding="utf-8", errors="replace")

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Have none of its processes run meanwhile, as those of a machine that sleeps."""
        asleep: list[int] = []
        try:
            while awake := {self.process.pid, *descendants(self.process.pid)}.difference(asleep):
                for pid in awake:  # those that start meanwhile are found by the next look
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGSTOP)
                asleep += awake
            yield
        finally:
            for pid in asleep:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def leave(self) -> None:
        """Have it leave, as a service manager does."""
        self.process.send_signal(signal.SIGTERM)

    def ends(self, code: int = 0) -> None:
        """It comes to its end."""
        assert self.finish(PATIENCE) == code, self.told()[-3000:]


@contextmanager
def nodes(addresses: list[str], folder: Path, *options: str) -> Iterator[list[Node]]:
    """A node for each address of a crawl, started one after the other; those that still run at the end are killed."""
    roots = [folder / f"machine{number}" for number in range(len(addresses))]
    made: list[Node] = []
    try:
        for address, root in zip(addresses, roots, strict=True):
            others = [other for other in roots if other != root]
            made.append(Node(address, root, others, *options))
        yield made
    finally:
        for node in made:
            if not node.over:
                node.stop()
            node.close()


def standing(address: str) -> list[NodeState]:
    """How the nodes of a crawl stand."""
    with closing(open_cluster(address)) as shared:
        return shared.nodes()


def kept_of(address: str) -> int:
    """How many workers have had a round of parcels."""
    with closing(open_cluster(address)) as shared:
        return sum(shared.kept(worker.number) > 0 for worker in shared.workers(everywhere=True))


def rows_in_files(out: Path) -> int:
    """Rows of pages, be they superseded."""
    return sum(pq.read_metadata(path).num_rows for path in (out / "pages").glob("*.parquet"))


def fetched(bed: Bed, pages: int, *among: Siege) -> None:
    """Wait for so many requests."""
    wait_until(lambda: any(each.over for each in among) or len(bed.log()) > pages, "the crawl stands still")
    assert not any(each.over for each in among), "it was over before"


def final_rows(out: Path) -> list[tuple[str, str]]:
    """URL and digest of every page that counts."""
    found: list[tuple[str, str]] = []
    for batch in CrawlFiles(out).batches("pages", ("url", "digest", "final", "kind")):
        rows: dict[str, list[Any]] = batch.to_pydict()
        found += [
            (url, digest)
            for url, digest, final, kind in zip(
                *(rows[name] for name in ("url", "digest", "final", "kind")), strict=True
            )
            if final and kind != "robots"
        ]
    return found


def check_together(bed: Bed, outs: list[Path], *, wait: float) -> None:
    """Every page of the web is there once among all nodes, and no site was treated rudely by them together."""
    truth = digests_of(bed.web)
    stored = [row for out in outs for row in final_rows(out)]
    counts = Counter(url for url, _ in stored)
    twice = [url for url, count in counts.items() if count > 1]
    assert not twice, f"{len(twice)} pages have two final rows, such as {twice[0]}"
    missing = truth.keys() - counts.keys()
    assert not missing, f"{len(missing)} pages are missing, such as {min(missing)}"
    assert dict(stored) == truth
    check_polite(visits_of(bed.log()), wait=wait)
