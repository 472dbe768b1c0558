"""What attacks do to another revision, and to this one. `python -m tests.hostile.against_revision REVISION [NAME …]`

Each finding is a site, or a damage, and `weft crawl` as a command: nothing is used that an old revision does not have.
The revision is checked out into a temporary worktree. What is seen is printed beside what is seen of this tree; whether
that is as it should be is for `tests/integration` to say.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
from tests.hostile.answers import ATTACKS, innocent, served
from tests.small_site import Answer

_PATIENCE = 60.0  # seconds that a crawl has
_SECRET = b"User-agent: *\nDisallow: /secret\n"
_PART = b"User-agent: *\nDisallow: /other\n"  # of a file that goes on with what is secret
_HOME = Answer(b'<a href="/secret">x</a><a href="/public">y</a>')


class Ran(NamedTuple):
    """A crawl that was run."""

    ended: bool  # by itself
    code: int
    said: str
    memory: int  # megabytes of its processes, at most

    @property
    def how(self) -> str:
        """For a table."""
        return f"exit {self.code}" if self.ended else "no end"


class Tree(NamedTuple):
    """A revision's source."""

    name: str
    source: Path

    def weft(self, *words: str, patience: float = _PATIENCE, **environment: str) -> Ran:
        """Run weft's command line."""
        variables = os.environ | {"PYTHONPATH": str(self.source)} | environment
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(  # a group of its own, to be ended as one
                [sys.executable, "-m", "weft", *words],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env=variables,
                start_new_session=True,
            )
            memory, until = 0, time.monotonic() + patience
            while process.poll() is None and time.monotonic() < until:
                memory = max(memory, _memory(process.pid))
                time.sleep(0.1)
            ended = process.poll() is not None
            if not ended:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                for child in _children(process.pid):
                    child.kill()
            said.seek(0)
            return Ran(ended, process.returncode, said.read().decode("utf-8", "replace"), memory)

    def crawl(self, out: Path, *words: str, patience: float = _PATIENCE, **environment: str) -> Ran:
        """A crawl of sites of this machine, without waits."""
        always = ("--out", str(out), "--scope", "all", "--wait", "0", "--allow-address", "127.0.0.0/8")
        pauses = ("--retry-pauses", "0.3", "--retry-pauses", "0.3", "--hung-after", "10")
        return self.weft("crawl", *words, *always, *pauses, patience=patience, **environment)


def _children(pid: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return list(psutil.Process(pid).children(recursive=True))
    return []


def _memory(pid: int) -> int:
    total = 0
    for child in _children(pid):
        with contextlib.suppress(psutil.Error):
            total += child.memory_info().rss
    return total >> 20


def _attacked(name: str) -> Callable[[Tree, Path], str]:
    """An attack of `answers`, with an innocent site beside it."""

    def see(tree: Tree, folder: Path) -> str:
        attack = ATTACKS[name]()
        words = ["--requisites"] if attack.settings.get("requisites") else []
        with served(attack.pages, "127.0.0.2") as bad, served(innocent(), "127.0.0.3") as good:
            ran = tree.crawl(folder / "out", bad.url, good.url, *words)
            log = sum(path.stat().st_size for path in folder.rglob("frontier.log"))
            pages = len(set(good.asked) - {"/robots.txt"})
            return f"{pages}/12 innocent pages, {ran.how}, {ran.memory} MB, log {log >> 10} kB"

    return see


def _robots(body: bytes, *headers: tuple[str, str], seconds: float = 0.0) -> Callable[[Tree, Path], str]:
    """A robots.txt that cannot be read whole: is what it forbids asked for?"""

    def see(tree: Tree, folder: Path) -> str:
        pages = {"/": _HOME, "/secret": Answer(b"s"), "/public": Answer(b"p")}
        with served(pages | {"/robots.txt": Answer(body, "text/plain", headers=headers)}, "127.0.0.2") as site:
            words = ("--timeout", str(seconds)) if seconds else ()
            ran = tree.crawl(folder / "out", site.url, *words)
            return (
                f"{'the forbidden page was' if '/secret' in site.asked else 'no forbidden page'} asked for, {ran.how}"
            )

    return see


def _expands(tree: Tree, folder: Path) -> str:
    body = gzip.compress(_SECRET + b"Disallow: /some/path/of/ours\n" * 690_000)
    pages = {"/": _HOME, "/robots.txt": Answer(body, "text/plain", headers=(("Content-Encoding", "gzip"),))}
    with served(pages, "127.0.0.2") as site:
        ran = tree.crawl(folder / "out", site.url)
        log = sum(path.stat().st_size for path in folder.rglob("frontier.log"))
        return f"log {log >> 10} kB, {ran.memory} MB, {ran.how}"


def _leads_to_a_port(tree: Tree, folder: Path) -> str:
    try:
        mail = socket.create_server(("127.0.0.4", 25))
    except PermissionError:
        return "cannot be tried by this user"
    with mail:
        mail.setblocking(False)
        away = Answer(b"", "text/plain", 301, (("Location", "http://127.0.0.4:25/QUIT"),))
        with served({"/": _HOME, "/robots.txt": away}, "127.0.0.2") as site:
            blocked = folder / "out"
            tree.crawl(blocked, site.url, "--max-pages", "1")
            try:
                mail.accept()[0].close()
            except BlockingIOError:
                return "nobody connected to the other port"
            return "the other port was connected to"


def _leads_to_nobody(tree: Tree, folder: Path) -> str:
    away = Answer(b"", "text/plain", 301, (("Location", "http://127.0.0.9:1/robots.txt"),))
    with served({"/": _HOME, "/robots.txt": away}, "127.0.0.2") as site:
        ran = tree.crawl(folder / "out", site.url)
        return f"robots.txt was asked for {site.asked.count('/robots.txt')} times, {ran.how}"


class _Endless(dict[str, Answer]):
    """Every page redirects to the next."""

    def get(self, path: str, _default: Answer | None = None) -> Answer:  # type: ignore[override]
        if path == "/robots.txt":
            return Answer(b"", "text/plain", 404)
        number = int(path.strip("/") or 0)
        return Answer(b"", "text/html", 302, (("Location", f"/{number + 1}"),))


def _chain(tree: Tree, folder: Path) -> str:
    with served(_Endless(), "127.0.0.2") as site:
        ran = tree.crawl(folder / "out", site.url, patience=40)
        return f"{len(site.asked)} redirects followed, {ran.how}"


def _flipped(tree: Tree, folder: Path) -> str:
    with served(innocent(200), "127.0.0.2") as site:
        tree.crawl(folder / "out", site.url, "--max-pages", "100", "--commit-every", "0.1")
        log = next(folder.rglob("frontier.log"))
        content = bytearray(log.read_bytes())
        content[len(content) // 20] ^= 255
        log.write_bytes(content)
        ran = tree.crawl(folder / "out", site.url, "--max-pages", "300")
        twice = len(site.asked) - len(set(site.asked))
        return f"{ran.how}, {twice} requests twice, log {'kept' if log.stat().st_size >= len(content) else 'cut'}"


def _proxy(tree: Tree, folder: Path) -> str:
    with served(innocent(), "127.0.0.2") as site:
        tree.crawl(folder / "out", site.url, http_proxy="http://127.0.0.9:1", patience=40)
        return f"{len(set(site.asked) - {'/robots.txt'})}/12 pages"


def _markup(tree: Tree, folder: Path) -> str:
    with served(innocent(), "127.0.0.2") as site:
        ran = tree.crawl(folder / "out", site.url, "http://x.test:22/[/bold]a")
        return f"{ran.how}, {'a traceback' if 'Traceback' in ran.said or 'MarkupError' in ran.said else 'no traceback'}"


def _media_type(tree: Tree, folder: Path) -> str:
    attack = ATTACKS["media-type"]()
    with served(attack.pages, "127.0.0.2") as site:
        tree.crawl(folder / "out", site.url)
        text = next(folder.rglob("crawl.log")).read_bytes()
        longest = max(map(len, text.splitlines()))
        return f"{text.count(bytes([27]))} escape bytes in crawl.log, its longest line {longest}"


def _prefix(tree: Tree, folder: Path) -> str:
    with served(innocent(), "127.0.0.2") as site:
        ran = tree.crawl(folder / "out", site.url, "--prefix", "../../elsewhere")
        return f"{ran.how}"


FINDINGS: dict[str, Callable[[Tree, Path], str]] = {
    "H1 robots.txt of wildcards": _attacked("robots-tails"),
    "H2 gzip in gzip": _attacked("gzip-in-gzip"),
    "H3 robots.txt leads to nobody": _leads_to_nobody,
    "H5 feed of empty elements": _attacked("feed-empty-elements"),
    "H5 sitemap of open elements": _attacked("map-open-elements"),
    "H5 style sheet": _attacked("styles"),
    "A1 robots.txt leads to a port": _leads_to_a_port,
    "A2 redirects without end": _chain,
    "A3 764,000 hosts": _attacked("hosts"),
    "A4 robots.txt expands": _expands,
    "A6 cookies": _attacked("cookies"),
    "I1 robots.txt cut by time": _robots(_PART, ("Content-Length", "4000"), seconds=1.0),
    "I2 robots.txt undecodable": _robots(gzip.compress(_SECRET)[:-20] + b"garbage" * 9, ("Content-Encoding", "gzip")),
    "I2 robots.txt breaks off": _robots(gzip.compress(_SECRET)[:-12], ("Content-Encoding", "gzip")),
    "L2 one flipped byte": _flipped,
    "N1 http_proxy": _proxy,
    "N2 markup in a seed": _markup,
    "N4 media type": _media_type,
    "N8 prefix": _prefix,
}


@contextlib.contextmanager
def checked_out(revision: str) -> Iterator[Tree]:
    """A revision in a worktree of its own, its compiled code ready."""
    root = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tree"
        git = ["git", "-C", str(root), "worktree"]
        subprocess.run([*git, "add", "--detach", str(place), revision], check=True, capture_output=True)
        try:
            tree = Tree(revision, place / "src")
            tree.weft("doctor", "--warm", patience=600)
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True, capture_output=True)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(revision: str, names: list[str]) -> None:
    """Print the table."""
    here = Tree("this tree", Path(__file__).parents[2] / "src")
    here.weft("doctor", "--warm", patience=600)
    with checked_out(revision) as there:
        _say(f"| finding | {revision} | now |\n| --- | --- | --- |")
        for name, see in FINDINGS.items():
            if names and name.partition(" ")[0] not in names:
                continue
            seen = []
            for tree in (there, here):
                with tempfile.TemporaryDirectory() as folder:
                    seen.append(see(tree, Path(folder)))
            _say(f"| {name} | {' | '.join(seen)} |")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
