"""A crawl replays in pywb: pages, revisits, and what they link to."""

from __future__ import annotations

import hashlib
import http.client
import os
import random
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.crawling import crawl, make_web, rows
from tests.patience import PATIENCE

from weft.store.warc import base32
from weft.testbed.bed import serving
from weft.testbed.options import Options

pytestmark = pytest.mark.xdist_group("replay")  # the crawl is made, and served, once
PYWB = Path(__file__).parents[2] / ".venv-pywb" / "bin"

WEB = Options(
    requisites=True,
    duplicates=0.3,
    failing=0.05,
    failing_kinds="404=1",
    robots_errors=0.0,
    robots_delays=0.0,
)


@dataclass(frozen=True)
class Replay:
    """A crawl, and a server that replays it."""

    out: Path
    port: int
    later: Path  # a crawl of the same web, to which the first one was known

    def get(self, url: str, collection: str = "crawl", when: str = "2") -> tuple[int, str, bytes]:
        """A page as it was stored: status, content type, payload; the capture closest to a time."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            # Without this pywb undoes content codings for us, and the payload would not be the stored one.
            connection.request("GET", f"/{collection}/{when}id_/{url}", headers={"Accept-Encoding": "gzip, deflate"})
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Content-Type", ""), answer.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    """Crawl a web, give its volumes to pywb, serve them."""
    if not (PYWB / "wayback").exists():
        pytest.skip("pywb is not set up: run `make test`, which does it")
    folder = tmp_path_factory.mktemp("replay")
    out = folder / "crawl"
    with serving(make_web(WEB, sites=12, pages=300)) as bed:
        crawl(bed, out, requisites=True)
        later = folder / "later"
        crawl(bed, later, requisites=True, known=[str(out)])
    for name, crawls in {"crawl": [out], "both": [out, later], "alone": [later]}.items():
        subprocess.run([PYWB / "wb-manager", "init", name], cwd=folder, check=True, capture_output=True)
        volumes = sorted(path for each in crawls for path in (each / "volumes").glob("*.warc.gz"))
        subprocess.run([PYWB / "wb-manager", "add", name, *volumes], cwd=folder, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    server = subprocess.Popen(
        [PYWB / "wayback", "--port", str(port), "--bind", "127.0.0.1"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _wait_for(port, server)
        yield Replay(out, port, later)
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Until the server listens, or is gone."""
    while server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        try:
            server.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
    pytest.fail("pywb did not start")


def chosen(replay: Replay, where: str, count: int) -> list[tuple[str, str, int]]:
    """Some pages of the crawl: URL, digest, id."""
    found = rows(replay.out, "url, digest, id", f"status = 200 and kind <> 'robots' and {where} order by id")
    assert len(found) >= count
    return random.Random(3).sample(found, count)


@pytest.mark.parametrize(("where", "count"), [("duplicate_of = 0 and title is not null", 20), ("duplicate_of <> 0", 5)])
def test_replay__pages_and_revisits_come_back_as_they_were_stored(replay: Replay, where: str, count: int) -> None:
    """Status 200 and the very payload, for pages stored in full and for those stored as a reference to another."""
    for url, digest, _ in chosen(replay, where, count):
        status, _, payload = replay.get(url)
        assert status == 200, url
        assert base32(hashlib.sha1(payload, usedforsecurity=False).digest()) == digest, url


def test_replay__what_the_pages_link_to_is_there(replay: Replay) -> None:
    """Every link and every part of a replayed page that was crawled answers 200, too."""
    checked = set()
    good = dict(rows(replay.out, "id, url", "final and status = 200"))
    for _, _, source in chosen(replay, "title is not null", 25):
        for (target,) in rows(replay.out, "target", f"source = {source}", table="links"):
            if target in good and target not in checked:
                checked.add(target)
                assert replay.get(good[target])[0] == 200, good[target]
    assert len(checked) > 100


def test_replay__redirects_lead_where_they_led(replay: Replay) -> None:
    """A redirect is replayed as one, and its target is there."""
    redirects = rows(replay.out, "url, redirect", "redirect is not null limit 10")
    assert redirects
    for url, target in redirects:
        status, _, _ = replay.get(url)
        assert status in (301, 302)
        assert replay.get(target)[0] == 200


def test_replay__revisits_of_an_earlier_crawl_need_both_collections(replay: Replay) -> None:
    """With both, the later capture of a page has its very payload; with the later one alone there is none."""
    known = rows(replay.later, "url, digest", "status = 200 and duplicate_in is not null and kind <> 'robots'")
    assert len(known) > 200
    for url, digest in random.Random(4).sample(known, 15):
        status, _, payload = replay.get(url, "both", "2099")
        assert status == 200, url
        assert base32(hashlib.sha1(payload, usedforsecurity=False).digest()) == digest, url
    assert replay.get(known[0][0], "alone", "2099")[0] != 200
