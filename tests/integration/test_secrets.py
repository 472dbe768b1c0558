"""Secrets: where they are, and where they are not."""

from __future__ import annotations

import base64
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.logging_in import PASSWORD, SESSION, Login, LogsIn, login_site
from tests.patience import PATIENCE

import weft
from weft.app import run, usable_seeds
from weft.cli.crawl import plan_of
from weft.directory import stored_plan
from weft.errors import UsageError

TOKEN = "token-Jw7pQ"  # noqa: S105
QUICK: Any = {"wait": 0.0, "commit_every": 0.1, "retry_pauses": []}


@pytest.fixture
def site() -> Iterator[Login]:
    """A site that notes what it is asked."""
    with login_site() as site:
        yield site


def contents(path: Path) -> bytes:
    """A file's bytes, and what they are decompressed."""
    data = path.read_bytes()
    return data + gzip.decompress(data) if path.name.endswith(".gz") else data


def holders(out: Path, *secrets: str) -> dict[str, int]:
    """The files of a crawl in which a secret can be read, with their modes."""
    files = [path for path in out.rglob("*") if path.is_file()]
    found = [path for path in files if any(secret.encode() in contents(path) for secret in secrets)]
    return {str(path.relative_to(out)): path.stat().st_mode & 0o777 for path in found}


def test_headers__are_sent_and_kept_with_the_secrets(site: Login, tmp_path: Path) -> None:
    """With every request, for all sites and for one; nobody but the owner can read them, and nothing else has them."""
    own = {site.url.split("/")[2]: {"headers": {"Authorization": f"Bearer {TOKEN}"}, "wait": 0.0}}
    weft.crawl(f"{site.url}login", tmp_path / "out", headers={"X-Key": f"{TOKEN}-2"}, sites=own, **QUICK)  # type: ignore[arg-type]
    assert {(headers["X-Key"], headers["Authorization"]) for headers in site.headers} == {
        (f"{TOKEN}-2", f"Bearer {TOKEN}")
    }
    assert holders(tmp_path / "out", TOKEN) == {"secrets.toml": 0o600}
    assert "(in secrets.toml)" in (tmp_path / "out" / "crawl.toml").read_text()
    record = b"".join(map(contents, (tmp_path / "out").glob("volumes/*.warc.gz")))
    assert b"Authorization: (not kept)" in record
    assert b"X-Key: (not kept)" in record


def test_secrets__are_there_when_a_crawl_goes_on(site: Login, tmp_path: Path) -> None:
    """A worker process and a later run read them again; without the file they say what is missing."""
    out = tmp_path / "out"
    weft.crawl(
        f"{site.url}login", out, headers={"X-Key": TOKEN}, proxy=f"http://me:{TOKEN}@127.0.0.1:9", max_time=1.0, **QUICK
    )
    settings = stored_plan(out).settings
    assert settings.fetching.headers == {"X-Key": TOKEN}
    assert settings.fetching.proxy == f"http://me:{TOKEN}@127.0.0.1:9"
    assert holders(out, TOKEN) == {"secrets.toml": 0o600}
    (out / "secrets.toml").unlink()
    with pytest.raises(UsageError, match=r"secrets\.toml is not there"):
        stored_plan(out)


def test_secrets__are_gone_when_a_run_has_none(site: Login, tmp_path: Path) -> None:
    """A crawl that goes on without them does not keep them."""
    weft.crawl(f"{site.url}login", tmp_path / "out", headers={"X-Key": TOKEN}, **QUICK)
    weft.crawl(f"{site.url}login", tmp_path / "out", **QUICK)
    assert holders(tmp_path / "out", TOKEN) == {}


def test_login__leaves_its_traces_in_private_files_only(site: Login, tmp_path: Path) -> None:
    """What was posted, and the cookie that came back, are with the frontier's memory, for the owner's eyes."""
    weft.crawl(site.url, tmp_path / "out", application=LogsIn(), **QUICK)
    assert holders(tmp_path / "out", PASSWORD, SESSION) == {"workers/0/frontier.log": 0o600}


def test_store_credentials__keeps_what_was_sent(site: Login, tmp_path: Path) -> None:
    """Where the archive is to be complete, it is."""
    weft.crawl(site.url, tmp_path / "out", application=LogsIn(), store_credentials=True, **QUICK)
    record = b"".join(map(contents, (tmp_path / "out").glob("volumes/*.warc.gz")))
    assert f"Cookie: id={SESSION}".encode() in record
    assert f"Set-Cookie: id={SESSION}".encode() in record


def test_environment__has_a_header_that_is_in_no_file(
    site: Login, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings name the variable, and a run without it ends before it begins."""
    monkeypatch.setenv("WEFT_TEST_TOKEN", TOKEN)
    weft.crawl(f"{site.url}login", tmp_path / "out", headers={"X-Key": "env:WEFT_TEST_TOKEN"}, **QUICK)
    assert {headers["X-Key"] for headers in site.headers} == {TOKEN}
    assert holders(tmp_path / "out", TOKEN) == {}
    assert "env:WEFT_TEST_TOKEN" in (tmp_path / "out" / "crawl.toml").read_text()
    monkeypatch.delenv("WEFT_TEST_TOKEN")
    with pytest.raises(UsageError, match="no variable WEFT_TEST_TOKEN"):
        weft.crawl(f"{site.url}login", tmp_path / "new", headers={"X-Key": "env:WEFT_TEST_TOKEN"}, **QUICK)


def test_credentials__in_a_seed_are_used(site: Login, tmp_path: Path) -> None:
    """Sent to that site as RFC 7617 has it, and in no URL that is written anywhere."""
    seed = f"{site.url}login".replace("//", f"//me:{TOKEN}@")
    basic = base64.b64encode(f"me:{TOKEN}".encode()).decode()
    summary = weft.crawl(seed, tmp_path / "out", **QUICK)
    assert summary.counts.good == 1
    assert {headers["Authorization"] for headers in site.headers} == {f"Basic {basic}"}
    assert holders(tmp_path / "out", TOKEN, basic) == {"secrets.toml": 0o600}
    assert (tmp_path / "out" / "seeds.txt").read_text() == f"{site.url}login\n"


def test_credentials__elsewhere_are_refused_without_being_shown() -> None:
    """Not dropped: who gives them where they are not taken is told so."""
    with pytest.raises(UsageError, match="credentials") as refused:
        usable_seeds([f"http://me:{TOKEN}@example.org/"], where="weft add")
    assert TOKEN not in str(refused.value)
    with pytest.raises(UsageError, match="scheme") as refused:
        usable_seeds([f"ftp://me:{TOKEN}@example.org/"], where="the seeds", credentials={})
    assert TOKEN not in str(refused.value)
    with pytest.raises(UsageError, match="different") as refused:
        usable_seeds(["http://a:1@example.org/", "http://a:2@example.org/b"], where="the seeds", credentials={})
    assert "1" not in str(refused.value)


@pytest.mark.parametrize("bad", [{"X\n": "a"}, {"Host": "a"}, {"X": f"{TOKEN}\r\nY: b"}])
def test_headers__that_cannot_be_sent_are_refused_by_name(tmp_path: Path, bad: dict[str, str]) -> None:
    """Before anything is written, and without the value."""
    with pytest.raises(UsageError, match="header") as refused:
        weft.crawl("http://127.0.0.1:9/", tmp_path / "out", headers=bad)
    assert TOKEN not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_command__takes_headers_and_no_process_shows_them(site: Login, tmp_path: Path) -> None:
    """`--header`, from the environment; the workers' command lines, the output and `weft status` have nothing of it."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "weft", "crawl", f"{site.url}login", "--out", str(out), "--json"]
    command += ["--header", "X-Key: env:WEFT_TEST_TOKEN", "--header", "Accept-Language: de", "--workers", "1"]
    shown: list[bytes] = []
    site.on_get = lambda: shown.append(_command_lines())
    environment = {**os.environ, "WEFT_TEST_TOKEN": TOKEN}
    done = subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE, env=environment)
    status = [sys.executable, "-m", "weft", "status", str(out), "--json"]
    told = subprocess.run(status, check=True, capture_output=True, timeout=PATIENCE)
    assert {(headers["X-Key"], headers["Accept-Language"]) for headers in site.headers} == {(TOKEN, "de")}
    assert json.loads(done.stdout)["why"]
    assert len(shown) == 2
    assert TOKEN.encode() not in b"".join((done.stdout, done.stderr, told.stdout, *shown))
    assert holders(out, TOKEN) == {}


def _command_lines() -> bytes:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes())
        except OSError:  # it has ended
            continue
    return b"\n".join(line for line in found if b"weft" in line)


def test_plan__of_the_command_line_has_a_seeds_credentials(site: Login, tmp_path: Path) -> None:
    """The same on the command line as from Python."""
    seed = f"{site.url}login".replace("//", f"//me:{TOKEN}@")
    plan = plan_of([seed], None, tmp_path / "out", None, None, {"workers": 1, "wait": 0.0}, strict=False)
    assert plan.seeds == [f"{site.url}login"]
    run(plan)
    assert len({headers["Authorization"] for headers in site.headers}) == 1
    assert list(holders(tmp_path / "out", TOKEN, base64.b64encode(f"me:{TOKEN}".encode()).decode())) == ["secrets.toml"]
