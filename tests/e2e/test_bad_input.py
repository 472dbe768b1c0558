"""Bad input: one clear message that says what to do, the right exit code, and nothing half-written."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from tests.commands import completed
from tests.crawling import make_web
from tests.patience import PATIENCE

from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN


def weft(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command as a person would."""
    with mock.patch.dict(os.environ, {"COLUMNS": "300"}):
        return completed(*arguments, stdin=stdin)


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web to crawl where the input is good."""
    with serving(make_web(PLAIN, sites=10, pages=300)) as bed:
        yield bed


def refused(done: subprocess.CompletedProcess[str], *words: str, code: int = 2) -> None:
    """The command failed with this code and one message that has these words."""
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_seed_file__that_cannot_be_read(tmp_path: Path) -> None:
    """The message names the file."""
    missing = tmp_path / "missing.txt"
    refused(
        weft("crawl", "--seeds", str(missing), "--out", str(tmp_path / "out")), "cannot read the seeds", str(missing)
    )
    refused(weft("crawl", "--seeds", str(tmp_path), "--out", str(tmp_path / "out")), "cannot read the seeds")
    assert not (tmp_path / "out").exists()


def test_seed_list__without_a_usable_url(tmp_path: Path) -> None:
    """The first unusable line is shown with its number and why."""
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("# comment\nmailto:me@example.org\nhttp://[bad/\n", encoding="utf-8")
    done = weft("crawl", "--seeds", str(seeds), "--out", str(tmp_path / "out"))
    refused(done, "no seed that can be used", "line 2", "mailto:me@example.org")
    assert not (tmp_path / "out").exists()


def test_seed_list__with_some_unusable_lines(bed: Bed, tmp_path: Path) -> None:
    """They are listed and skipped; --strict refuses."""
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"{bed.seeds()[0]}\nftp://example.org/\n", encoding="utf-8")
    common = ["crawl", "--seeds", str(seeds), "--dns", bed.dns, "--allow-address", "127.0.0.0/8", "--max-pages", "3"]
    refused(weft(*common, "--out", str(tmp_path / "strict"), "--strict"), "ftp://example.org/", "--strict")
    assert not (tmp_path / "strict").exists()
    done = weft(*common, "--out", str(tmp_path / "out"))
    assert done.returncode == 0
    assert "skipped" in done.stderr
    assert "line 2" in done.stderr


def test_directory__that_is_not_ours(tmp_path: Path) -> None:
    """A folder with other files in it is left alone."""
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    refused(weft("crawl", "http://127.0.0.1/", "--out", str(tmp_path)), "not empty", "--out")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_directory__of_another_crawl(bed: Bed, tmp_path: Path) -> None:
    """Other seeds, a narrower scope or another ordering are another crawl; other speed settings are not."""
    out = tmp_path / "out"
    reach = ["--dns", bed.dns, "--allow-address", "127.0.0.0/8", "--out", str(out)]
    sizes = bed.web.graph.first_page[1:] - bed.web.graph.first_page[:-1]
    first, *_, second = (bed.seeds()[int(site)] for site in sizes.argsort()[::-1])
    assert weft("crawl", first, *reach, "--max-pages", "5", "--wait", "0").returncode == 0
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    refused(weft("crawl", second, *reach), "belongs to another crawl", "seeds")
    refused(weft("crawl", first, *reach, "--scope", "list"), "not narrower", "its scope was site, and is now list")
    refused(weft("crawl", first, *reach, "--ordering", "larger-sites-first"), "ordering")
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    again = weft("crawl", first, *reach, "--max-pages", "8", "--wait", "0.01", "--per-visit", "2", "--json")
    assert again.returncode == 0
    assert '"pages":8' in again.stdout
    assert weft("crawl", "--out", str(out), "--max-pages", "9").returncode == 0, "the directory alone is enough"


def test_settings__that_do_not_exist(tmp_path: Path) -> None:
    """A flag or a key that is misspelt is refused, with the one that was meant."""
    out = str(tmp_path / "out")
    refused(weft("crawl", "http://127.0.0.1/", "--out", out, "--wiat", "3"), "--wiat", "--wait")
    file = tmp_path / "crawl.toml"
    for text, words in (
        ("[politeness]\nwiat = 3\n", ("wiat", "did you mean 'wait'", str(file))),
        ("[politness]\nwait = 3\n", ("[politness]", "politeness")),
        ('[politeness]\nwait = "long"\n', ("wait", str(file))),
        ("[politeness\n", ("not valid TOML", "line 1")),
        ('[sites."a.example"]\nrobot = "ignore"\n', ("robot", "did you mean 'robots'")),
    ):
        file.write_text(text, encoding="utf-8")
        refused(weft("crawl", "http://127.0.0.1/", "--out", out, "--config", str(file)), *words)
    refused(weft("crawl", "http://127.0.0.1/", "--out", out, "--config", str(tmp_path / "none")), "cannot read")
    refused(weft("crawl", "http://127.0.0.1/", "--out", out, "--ordering", "best"), "'best'", "breadth-first")
    refused(weft("crawl", "http://127.0.0.1/", "--out", out, "--profile", "fast"), "'fast'", "wire")
    refused(weft("crawl", "http://127.0.0.1/", "--out", out, "--include", "(("), "--include")
    refused(weft("crawl", "http://127.0.0.1/", "--out", out, "--workers", "-1"), "--workers", "at least 0")
    refused(weft("crawl", "http://127.0.0.1/", "--out", out, "--speed", "fast"), "not a valid speed", "200 pages/s")
    refused(weft("crawl", "http://127.0.0.1/", "--out", out, "--allow-address", "10.0.0.0/99"), "10.0.0.0/99")
    refused(weft("crawl", "http://127.0.0.1/", "--out", out, "--dns", "not a server"), "--dns")
    refused(weft("crawl", "--out", out), "no crawl here")
    assert not Path(out).exists()


def test_contact__is_needed_beyond_this_machine(tmp_path: Path) -> None:
    """Without one nothing but loopback is crawled, and the message says how to give one."""
    for seed in ("http://192.0.2.1/", "http://nowhere.invalid/"):
        refused(weft("crawl", seed, "--out", str(tmp_path / "out")), "no contact", "--contact")
    assert not (tmp_path / "out").exists()


def crawling(bed: Bed, out: Path, *, wait: str) -> list[str]:
    """The arguments of a crawl of the bed."""
    reach = ["--dns", bed.dns, "--allow-address", "127.0.0.0/8"]
    return ["crawl", *bed.seeds(), "--out", str(out), *reach, "--wait", wait]


def test_directory__is_crawled_by_one_at_a_time(bed: Bed, tmp_path: Path) -> None:
    """A second crawl in the same directory is refused while the first runs."""
    out = tmp_path / "out"
    command = crawling(bed, out, wait="3")
    with subprocess.Popen([sys.executable, "-m", "weft", *command], stderr=subprocess.PIPE, text=True) as first:
        assert first.stderr is not None
        first.stderr.readline()
        refused(weft(*command), "another weft crawl is running", code=1)
        first.terminate()
        first.communicate(timeout=PATIENCE)
    assert first.returncode == 0


def test_directory__that_cannot_be_written(tmp_path: Path) -> None:
    """A read-only place is refused before anything is fetched."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused(weft("crawl", "http://127.0.0.1/", "--out", str(tmp_path / "file" / "out")), "--out", code=1)


def test_directory__that_is_read_only(tmp_path: Path) -> None:
    """Said so before anything is fetched, also for a crawl that was begun there."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(tmp_path)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a file system of our own cannot be mounted here")
    try:
        refused(weft("crawl", "http://127.0.0.1/", "--out", str(tmp_path / "out")), "read-only", "--out", code=1)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_port__that_is_in_use() -> None:
    """The testbed says which port, and what to do."""
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))  # noqa: S104  the same wildcard the testbed binds
        taken.listen()
        port = taken.getsockname()[1]
        done = weft("testbed", "serve", "--sites", "2", "--pages", "5", "--port", str(port), "--dns-port", "0")
    refused(done, str(port), code=1)


def test_reading_commands__without_a_crawl(tmp_path: Path) -> None:
    """Explain, show and log say that there is no crawl."""
    for command in (
        ("explain", str(tmp_path), "http://a/"),
        ("show", str(tmp_path), "http://a/"),
        ("log", str(tmp_path)),
    ):
        refused(weft(*command), "no crawl here")
