"""A crawl for other programs: WACZ that readers of others take, lines of JSON and CSV, streamed."""

from __future__ import annotations

import csv
import gzip
import hashlib
import http.client
import io
import json
import os
import signal
import socket
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.commands import completed, weft
from tests.crawling import crawl, make_web, rows
from tests.objectstore import BUCKET, object_store
from tests.patience import PATIENCE
from warcio.archiveiterator import ArchiveIterator

import weft as library
from weft.exporting import wacz
from weft.store.files import OPEN
from weft.store.warc import base32
from weft.testbed.bed import serving
from weft.testbed.options import Options

pytestmark = pytest.mark.xdist_group("export")  # the crawl is made once
OTHERS = Path(__file__).parents[2] / ".venv-pywb" / "bin"
WEB = Options(
    duplicates=0.3, failing=0.05, failing_kinds="404=1", robots_errors=0.0, robots_rules=0.0, robots_delays=0.0
)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of several volumes, with revisits that refer from one to another."""
    out = tmp_path_factory.mktemp("export") / "crawl"
    with serving(make_web(WEB, sites=10, pages=250)) as bed:
        crawl(bed, out, volume_bytes=100_000, commit_every=0.1, speed="100 pages/s")  # a volume ends at a commit
    assert len(list((out / "volumes").glob("*.warc.gz"))) > 3
    return out


@pytest.fixture(scope="module")
def package(out: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a WACZ file."""
    path = tmp_path_factory.mktemp("wacz") / "crawl.wacz"
    done = completed("export", out, "--wacz", path, "--title", "A small web")
    assert done.returncode == 0, done.stderr
    assert "records" in done.stderr
    assert "not sealed" not in done.stderr
    return path


def index_of(package: Path) -> list[dict[str, Any]]:
    """Every line of the index, found as a reader does: block by block, by the places that the second file has."""
    with zipfile.ZipFile(package) as archive:
        head, *places = archive.read("indexes/index.idx").decode().splitlines()
        assert json.loads(head.partition(" 0 ")[2]) == {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
        packed = archive.read("indexes/index.cdx.gz")
    found = []
    keys: list[str] = []
    for line in places:
        key, moment, text = line.split(" ", 2)
        place = json.loads(text)
        block = packed[place["offset"] : place["offset"] + place["length"]]
        assert f"sha256:{hashlib.sha256(block).hexdigest()}" == place["digest"]
        lines = gzip.decompress(block).decode().splitlines()
        assert lines[0].startswith(f"{key} {moment} ")
        keys += lines
        found += [json.loads(each.split(" ", 2)[2]) for each in lines]
    assert keys == sorted(keys)
    assert gzip.decompress(packed).decode().splitlines() == keys
    return found


def test_wacz__has_what_the_specification_wants(out: Path, package: Path) -> None:
    """Volumes as they are, stored; every digest right; nothing that is not listed."""
    with zipfile.ZipFile(package) as archive:
        about = json.loads(archive.read("datapackage.json"))
        seal = json.loads(archive.read("datapackage-digest.json"))
        assert seal["hash"] == f"sha256:{hashlib.sha256(archive.read('datapackage.json')).hexdigest()}"
        assert (about["profile"], about["wacz_version"], about["title"]) == ("data-package", "1.1.1", "A small web")
        listed = {each["path"]: each for each in about["resources"]}
        assert set(listed) == set(archive.namelist()) - {"datapackage.json", "datapackage-digest.json"}
        for path, each in listed.items():
            data = archive.read(path)
            assert (each["bytes"], each["hash"]) == (len(data), f"sha256:{hashlib.sha256(data).hexdigest()}")
        for volume in (out / "volumes").glob("*.warc.gz"):
            assert archive.getinfo(f"archive/{volume.name}").compress_type == zipfile.ZIP_STORED
            assert archive.read(f"archive/{volume.name}") == volume.read_bytes()
        assert archive.getinfo("indexes/index.cdx.gz").compress_type == zipfile.ZIP_STORED
        head, *first = map(json.loads, archive.read("pages/pages.jsonl").decode().splitlines())
        others = [json.loads(line) for line in archive.read("pages/extraPages.jsonl").decode().splitlines()][1:]
    assert head["format"] == "json-pages-1.0"
    assert about["mainPageUrl"] == first[0]["url"]
    good = "final and status between 200 and 299 and kind not in ('robots', 'map')"
    assert sorted(page["url"] for page in first) == sorted(u for (u,) in rows(out, "url", f"{good} and depth = 0"))
    assert sorted(page["url"] for page in others) == sorted(u for (u,) in rows(out, "url", f"{good} and depth > 0"))
    titles = dict(rows(out, "url, title", good))
    assert all(page.get("title") == titles[page["url"]] for page in first + others)


def test_wacz__index_leads_to_records_and_revisits_to_contents_inside(out: Path, package: Path) -> None:
    """By range requests into the file: the place of the volume, then that of the record."""
    index = index_of(package)
    assert len(index) == rows(out, "count(*)", "volume is not null")[0][0]
    originals = {each["digest"] for each in index if each["mime"] != "warc/revisit"}
    revisits = [each for each in index if each["mime"] == "warc/revisit"]
    assert len(revisits) > 20
    assert all(each["digest"] in originals for each in revisits)
    data = package.read_bytes()
    with zipfile.ZipFile(package) as archive:
        places = {each.filename: each.header_offset for each in archive.infolist()}
    for each in index[::15]:
        start = places[f"archive/{each['filename']}"]
        names = int.from_bytes(data[start + 26 : start + 28], "little")
        extra = int.from_bytes(data[start + 28 : start + 30], "little")
        begin = start + 30 + names + extra + int(each["offset"])
        (record,) = ArchiveIterator(io.BytesIO(data[begin : begin + int(each["length"])]))
        assert record.rec_headers["WARC-Target-URI"] == each["url"]
        assert record.rec_headers["WARC-Payload-Digest"] == each["digest"]


def test_wacz__is_valid_by_the_tool_of_others(package: Path) -> None:
    """`wacz validate`, of those who wrote the specification."""
    if not (OTHERS / "wacz").exists():
        pytest.skip("wacz is not set up: run `make test`, which does it")
    done = subprocess.run([OTHERS / "wacz", "validate", "-f", package], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "is valid" in done.stdout


def test_wacz__replays_in_pywb(out: Path, package: Path, tmp_path: Path) -> None:
    """From the file alone, by its own index: pages, and revisits whose content is in another volume."""
    if not (OTHERS / "wayback").exists():
        pytest.skip("pywb is not set up: run `make test`, which does it")
    for command in (["init", "crawl"], ["add", "--unpack-wacz", "crawl", package]):
        subprocess.run([OTHERS / "wb-manager", *command], cwd=tmp_path, check=True, capture_output=True)
    where = "final and status = 200 and kind <> 'robots'"
    wanted = rows(out, "url, digest", f"{where} and duplicate_of = 0 order by id limit 10")
    wanted += rows(out, "url, digest", f"{where} and duplicate_of <> 0 order by id limit 10")
    assert len(wanted) == 20
    with _serving(tmp_path) as port:
        for url, digest in wanted:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("GET", f"/crawl/2id_/{url}", headers={"Accept-Encoding": "gzip, deflate"})
            answer = connection.getresponse()
            assert answer.status == 200, url
            assert base32(hashlib.sha1(answer.read(), usedforsecurity=False).digest()) == digest
            connection.close()


@contextmanager
def _serving(folder: Path) -> Iterator[int]:
    """Replay what is in a folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = [str(OTHERS / "wayback"), "--port", str(port), "--bind", "127.0.0.1"]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, cwd=folder, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, "pywb did not start"
            try:
                server.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
        yield port
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


class _Pipe(io.BytesIO):
    """What can only be written, one byte after the other."""

    largest = 0

    def seekable(self) -> bool:
        """It is not."""
        return False

    def seek(self, *_: int) -> int:
        """Nor does it pretend to be."""
        raise OSError("a pipe")

    tell = seek

    def write(self, data: Any) -> int:
        """Take some."""
        self.largest = max(self.largest, len(data))
        return super().write(data)


def test_wacz__can_be_sent_through_a_pipe(out: Path, package: Path) -> None:
    """The same files, written from the beginning to the end, a megabyte at most in one go."""
    pipe = _Pipe()
    wacz.export_wacz(library.open(out), pipe)
    with zipfile.ZipFile(io.BytesIO(pipe.getvalue())) as piped, zipfile.ZipFile(package) as filed:
        assert piped.testzip() is None
        assert piped.namelist() == filed.namelist()
        for name in piped.namelist():
            if not name.startswith("datapackage"):
                assert piped.read(name) == filed.read(name)
    assert pipe.largest <= 1 << 20


def test_wacz__indexes_are_merged_some_at_a_time(out: Path, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crawl may have more volumes than files can be open; the index is the same."""
    monkeypatch.setattr(wacz, "_AT_ONCE", 2)
    pipe = _Pipe()
    wacz.export_wacz(library.open(out), pipe)
    with zipfile.ZipFile(io.BytesIO(pipe.getvalue())) as piped, zipfile.ZipFile(package) as filed:
        assert piped.read("indexes/index.cdx.gz") == filed.read("indexes/index.cdx.gz")


def test_wacz__of_a_crawl_with_open_volumes_says_what_is_missing(out: Path, tmp_path: Path) -> None:
    """What is not sealed is left out, and so are lines whose content is there: everything left resolves inside."""
    copy = tmp_path / "copy"
    (copy / "volumes").mkdir(parents=True)
    stored = {digest: volume for volume, digest in rows(out, "volume, digest", "duplicate_of = 0")}
    copies = rows(out, "volume, digest", "duplicate_of <> 0")
    first = next(stored[digest] for volume, digest in copies if stored[digest] != volume)  # another refers to it
    for path in out.iterdir():
        if path.name != "volumes":
            (copy / path.name).symlink_to(path)
    for path in (out / "volumes").iterdir():
        still = path.name.split(".")[0] == first.split(".")[0]
        (copy / "volumes" / (path.name + (OPEN if still else ""))).symlink_to(path)
    path = tmp_path / "part.wacz"
    done = completed("export", copy, "--wacz", path)
    assert "1 volumes are not sealed and were left out" in done.stderr
    index = index_of(path)
    originals = {each["digest"] for each in index if each["mime"] != "warc/revisit"}
    assert all(each["digest"] in originals for each in index)
    assert not any(each["filename"] == first for each in index)
    others = [row for row in rows(out, "volume, duplicate_of, digest") if row[0] not in (first, None)]
    inside = {digest for _, duplicate_of, digest in others if not duplicate_of}
    kept, whole = sum(digest in inside for _, _, digest in others), len(others)
    assert len(index) == kept < whole
    assert f"{whole - kept} records that refer to them" in done.stderr


def test_wacz__has_volumes_that_are_in_an_object_store(tmp_path: Path) -> None:
    """They are read from there; contents and `weft.open`, too."""
    pytest.importorskip("weft.store.objects", reason="obstore is not installed")
    out, path = tmp_path / "crawl", tmp_path / "stored.wacz"
    with serving(make_web(WEB, sites=4, pages=40)) as bed, object_store():
        crawl(bed, out, store=f"s3://{BUCKET}/exported")
        assert not list((out / "volumes").glob("*.warc.gz"))
        weft("export", out, "--wacz", path)
        for content in library.open(out).contents():
            assert base32(hashlib.sha1(content.raw, usedforsecurity=False).digest()) == content.row["digest"]
    index = index_of(path)
    with zipfile.ZipFile(path) as archive:
        for each in index[::5]:
            data = archive.read(f"archive/{each['filename']}")[int(each["offset"]) :][: int(each["length"])]
            (record,) = ArchiveIterator(io.BytesIO(data))
            assert record.rec_headers["WARC-Target-URI"] == each["url"]


def test_lines__are_the_rows_that_are_asked_for(out: Path, tmp_path: Path) -> None:
    """JSON with ids as text, CSV with the same values; to a file, or to standard output."""
    where = "status = 200 and kind <> 'robots'"
    path = tmp_path / "pages.jsonl"
    weft("export", out, "--jsonl", path, "--columns", "id,url,final", "--where", where)
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    expected = rows(out, "id, url, final", where)
    assert sorted((int(row["id"]), row["url"], row["final"]) for row in found) == sorted(expected)
    lines = weft("export", out, "--csv", "-", "--columns", "id,url", "--columns", "final", "--where", where)
    table = list(csv.reader(io.StringIO(lines)))
    assert table[0] == ["id", "url", "final"]
    assert sorted((int(row[0]), row[1], row[2] == "true") for row in table[1:]) == sorted(expected)
    links = weft("export", out, "--jsonl", "-", "--table", "links", "--columns", "source,target").splitlines()
    pairs = sorted((int(each["source"]), int(each["target"])) for each in map(json.loads, links))
    assert pairs == sorted(rows(out, "source, target", table="links"))
    texts = weft("export", out, "--jsonl", "-", "--table", "texts", "--columns", "url,text").splitlines()
    assert len(texts) == sum(1 for _ in library.open(out).texts())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give one of --wacz, --jsonl and --csv"),
        (["--csv", "-", "--jsonl", "-"], "--jsonl and --csv are given"),
        (["--csv", "-", "--table", "nothing"], "there is no table nothing"),
        (["--csv", "-", "--columns", "nonsense"], "nonsense"),
        (["--csv", "-", "--table", "texts", "--columns", "words"], "texts have no column words"),
        (["--wacz", "-", "--where", "true"], "leave --table, --columns and --where out"),
    ],
)
def test_mistakes__are_named(out: Path, options: list[str], said: str) -> None:
    """With exit code 2, and what to do."""
    assert said in weft("export", out, *options, code=2)


def test_files__are_there_when_they_are_whole(out: Path, tmp_path: Path) -> None:
    """What fails leaves what was there."""
    path = tmp_path / "pages.csv"
    path.write_text("earlier", encoding="utf-8")
    weft("export", out, "--csv", path, "--columns", "url", "--where", "1 / (status - 200) > 'x'", code=2)
    assert path.read_text(encoding="utf-8") == "earlier"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["pages.csv"]
