"""Volumes in an object store: each is uploaded, identical, and gone from here; whoever is killed when, and whether the
store is there or not.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.commands import weft
from tests.crawling import crawl, digests_of, make_web, rows
from tests.objectstore import BUCKET, SECRET, environment, free_port, object_store
from tests.patience import PATIENCE
from tests.siege import Siege, command_for, wait_until
from warcio.archiveiterator import ArchiveIterator

from weft.app import run
from weft.clock import SystemClock
from weft.directory import Plan, stored_plan
from weft.errors import UsageError
from weft.store.gathering import waiting_volumes
from weft.store.places import volume_folders
from weft.store.sealed import checksum_of as local_checksum
from weft.store.sealed import listed
from weft.store.stored import stored_volumes
from weft.testbed.bed import Bed, serving
from weft.testbed.options import PLAIN

objects = pytest.importorskip("weft.store.objects", reason="obstore is not installed")
uploads = pytest.importorskip("weft.store.uploads", reason="obstore is not installed")

pytestmark = pytest.mark.xdist_group("object store")  # the store is started once
SMALL = 60_000  # bytes of a volume
# A volume ends at a commit: at this speed 300 pages have some thirty commits, on a fast machine too.
VOLUMES: dict[str, Any] = {"volume_bytes": SMALL, "commit_every": 0.1, "speed": "100 pages/s"}


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    """A web of some hundred pages."""
    with serving(make_web(PLAIN, sites=12, pages=300)) as bed:
        yield bed


@pytest.fixture(scope="module")
def store() -> Iterator[int]:
    """A store that is up."""
    with object_store() as port:
        yield port


@pytest.fixture
def url(request: pytest.FixtureRequest, store: int) -> str:
    """A place in it that only this test has."""
    assert store
    return f"s3://{BUCKET}/{request.node.name.translate(str.maketrans('[]', '--'))}"


def check_moved(out: Path, url: str) -> None:
    """Every volume that was ever sealed is in the store, byte for byte, and none is here."""
    stored = stored_volumes(out)
    sealed = {name: lines for name, lines in listed(out).items() if name.endswith(".warc.gz")}
    assert sealed
    assert set(stored) == set(sealed)
    for name, volume in stored.items():
        assert volume.url == f"{url}/{Path(name).name}"
        assert objects.checksum_of(volume.url) == (sealed[name][-1].length, sealed[name][-1].checksum)
    assert waiting_volumes(out) == []
    for index in (path for folder in volume_folders(out) for path in folder.glob("*.cdxj")):
        assert objects.checksum_of(f"{url}/{index.name}") == (index.stat().st_size, local_checksum(index))


def archived(out: Path) -> Counter[tuple[str, str]]:
    """Every URL with its payload digest, as warcio reads the objects."""
    found: Counter[tuple[str, str]] = Counter()
    for volume in stored_volumes(out).values():
        data = objects.read_range(volume.url, 0, volume.length)
        for record in ArchiveIterator(io.BytesIO(data), check_digests="raise"):
            record.content_stream().read()
            if record.rec_type in ("response", "revisit"):
                found[record.rec_headers["WARC-Target-URI"], record.rec_headers["WARC-Payload-Digest"]] += 1
    return Counter({pair: count for pair, count in found.items() if not pair[0].endswith("/robots.txt")})


def check_index(out: Path, url: str) -> None:
    """What a reader of CDXJ does: by name, place and length of each line it finds the record in the store."""
    checked = 0
    for index in (out / "volumes").glob("*.cdxj"):
        for line in index.read_text(encoding="utf-8").splitlines()[::20]:
            fields = json.loads(line.split(" ", 2)[2])
            data = objects.read_range(f"{url}/{fields['filename']}", int(fields["offset"]), int(fields["length"]))
            (record,) = ArchiveIterator(io.BytesIO(data), check_digests="raise")
            assert record.rec_headers["WARC-Target-URI"] == fields["url"]
            assert record.rec_headers["WARC-Payload-Digest"] == fields["digest"]
            checked += 1
    assert checked > 5


def said(out: Path) -> str:
    """What the operator was told."""
    path = out / "log" / "messages.log"
    return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.mark.parametrize("workers", [1, 2])
def test_store__has_every_volume_and_readers_find_them(bed: Bed, url: str, tmp_path: Path, workers: int) -> None:
    """With no volume left here: `show`, `audit`, `repair --check` and the next run. No secret is written anywhere."""
    out = tmp_path / "crawl"
    done = crawl(bed, out, store=url, workers=workers, **VOLUMES)
    assert done.why == "done"
    assert done.unstored == 0
    assert done.stored == len(stored_volumes(out)) > 2
    check_moved(out, url)
    assert archived(out) == Counter(digests_of(bed.web).items())
    for page in range(0, bed.web.graph.pages, 30):
        assert weft("show", str(out), bed.web.url(page), "--raw")
    audited = weft("audit", str(out), "--json")
    assert "cannot be read from the volumes" not in audited
    assert "nothing" in weft("repair", str(out), "--check")
    assert json.loads(weft("status", str(out), "--json"))["stored"] == done.stored
    again = crawl(bed, out, store=url, workers=workers, volume_bytes=SMALL)
    assert again.fetched == 0
    check_index(out, url)
    hidden = [path for path in out.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert hidden == []


def test_show__reads_no_more_than_the_record(bed: Bed, url: str, tmp_path: Path) -> None:
    """A range is asked for, and nothing else."""
    out = tmp_path / "crawl"
    crawl(bed, out, store=url, max_pages=30)
    (volume,) = stored_volumes(out).values()
    row = rows(out, 'url, "offset", length', "volume is not null and kind <> 'robots'")[5]
    with mock.patch.object(objects.obstore, "get_range", wraps=objects.obstore.get_range) as asked:
        assert weft("show", str(out), row[0], "--raw")
    assert [call.kwargs for call in asked.call_args_list] == [{"start": row[1], "length": row[2]}]
    assert row[2] < volume.length


@pytest.fixture(scope="module")
def sealed(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl whose volumes are all here."""
    out = tmp_path_factory.mktemp("sealed") / "crawl"
    crawl(bed, out, **VOLUMES)
    assert len(waiting_volumes(out)) > 2
    return out


DOOMED = """
import sys
from tests.doomed import doom
from weft.store import uploads
doom(sys.argv[1], int(sys.argv[2]), sys.argv[3])
sys.exit(uploads.main(sys.argv[4:]))
"""

STEPS = [
    ("weft.store.uploads:content_of", 1, "after"),  # it was read
    ("weft.store.objects:obstore.put", 1, "before"),  # of the index
    ("weft.store.objects:obstore.put", 1, "after"),
    ("weft.store.uploads:upload", 2, "before"),  # of the volume
    ("weft.store.uploads:upload", 2, "after"),
    ("weft.store.uploads:is_there", 4, "after"),  # it was checked
    ("weft.store.uploads:note_stored", 1, "before"),
    ("weft.disk:write_all", 1, "half"),  # half a line of the list
    ("weft.store.uploads:note_stored", 1, "after"),
    ("weft.store.uploads:sync_folder", 1, "before"),  # it was removed
    ("weft.store.uploads:sync_folder", 2, "after"),
]


def uploading(out: Path, url: str, *doom: str) -> subprocess.Popen[bytes]:
    """The process that uploads, which may die at a point; its input has ended, so that it tries everything once."""
    words = ["-c", DOOMED, *doom] if doom else ["-m", "weft.store.uploads"]
    command = [sys.executable, *words, str(out), url, str(os.getpid())]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


def upload_rest(out: Path, url: str) -> None:
    """What the next process that uploads does: nothing is left."""
    told: list[str] = []
    assert uploads.Uploads(out, url, SystemClock(), told.append).look(last=True) == 0, told


@pytest.mark.parametrize(("point", "call", "when"), STEPS)
def test_upload__killed_at_any_step_goes_on(
    sealed: Path, url: str, tmp_path: Path, point: str, call: int, when: str
) -> None:
    """A volume is here or there at any moment, and in the end there."""
    out = tmp_path / "crawl"
    shutil.copytree(sealed, out)
    names = {waiting.name for waiting in waiting_volumes(out)}
    with uploading(out, url, point, str(call), when) as process:
        process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL
    here = {waiting.name for waiting in waiting_volumes(out)}
    assert here | set(stored_volumes(out)) == names
    assert "nothing" in weft("repair", str(out), "--check"), "a volume that is in neither place, or cut, is damage"
    upload_rest(out, url)
    check_moved(out, url)


@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.soak)])
def test_upload__killed_at_random_moments_goes_on(sealed: Path, url: str, tmp_path: Path, kills: int) -> None:
    """Wherever it is by then."""
    out, chance = tmp_path / "crawl", random.Random(1)
    shutil.copytree(sealed, out)
    for _ in range(kills):
        with uploading(out, url) as process:
            time.sleep(chance.uniform(0.0, 2.0))
            process.kill()
            process.communicate()
    upload_rest(out, url)
    check_moved(out, url)


def test_upload__a_volume_that_is_not_what_was_sealed_stays(sealed: Path, url: str, tmp_path: Path) -> None:
    """It is named, and all others are uploaded."""
    out = tmp_path / "crawl"
    shutil.copytree(sealed, out)
    bad = waiting_volumes(out)[1].path
    bad.write_bytes(bad.read_bytes()[:-5] + b"xxxxx")
    with uploading(out, url) as process:
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 3
    assert f"{bad} is not as it was when it was sealed" in told.decode()
    assert [waiting.path for waiting in waiting_volumes(out)] == [bad]


def test_upload__what_the_store_garbled_is_uploaded_again(sealed: Path, url: str, tmp_path: Path) -> None:
    """An object of the same length that is another is found by its tag, and replaced."""
    out = tmp_path / "crawl"
    shutil.copytree(sealed, out)
    first = waiting_volumes(out)[0]
    other = tmp_path / "other"
    other.write_bytes(bytes(first.length))
    objects.upload(other, f"{url}/{first.path.name}")
    upload_rest(out, url)
    check_moved(out, url)


def test_content__of_a_large_file_has_the_tag_of_its_parts(url: str, tmp_path: Path) -> None:
    """As the store makes it: no volume is read back to be compared."""
    large = tmp_path / "large"
    large.write_bytes(random.Random(1).randbytes(2 * objects.PART + 5))
    objects.upload(large, f"{url}/large")
    content = objects.content_of(large)
    assert content.tag.endswith("-3")
    assert objects.find(f"{url}/large") == (content.length, content.tag)


def test_store__that_is_away_lets_volumes_gather_then_the_crawl_pauses(bed: Bed, tmp_path: Path) -> None:
    """Up to the bound; it goes on when the store is back, and everything is there."""
    out, port, url = tmp_path / "crawl", free_port(), f"s3://{BUCKET}/away"
    options = ["--wait", "0", "--workers", "1", "--volume-bytes", str(SMALL), "--commit-every", "0.1"]
    options += ["--speed", "40 pages/s"]  # so that pages are left when the bound is reached, on any machine
    command = command_for(bed, out, *options, "--store", url, "--store-gathers", "150kB")
    with mock.patch.dict(os.environ, environment(port)):
        siege = Siege(command, tmp_path / "said.txt")
    try:
        wait_until(lambda: siege.over or "the crawl pauses here" in said(out), "it does not pause")
        assert not siege.over, said(out)
        wait_until(lambda: "the store does not do what was asked" in said(out), "the store's side is not told")
        assert f"of sealed volumes wait for {url}, which is away or slow" in said(out)
        wait_until(lambda: "--store-gathers" in json.loads(weft("status", str(out), "--json"))["stalled"], "no word")
        assert SECRET not in said(out)
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
        assert not any(SECRET.encode() in line for line in lines)
        with object_store(port):
            assert siege.finish() == 0, said(out)
            assert "answers again" in said(out)
            assert "the crawl goes on after" in said(out)
            check_moved(out, url)
            assert archived(out) == Counter(digests_of(bed.web).items())
    finally:
        siege.close()


def test_store__that_stays_away_costs_nothing_but_the_upload(bed: Bed, tmp_path: Path) -> None:
    """The crawl ends well, says what is left, and the same command uploads it later."""
    out, port, url = tmp_path / "crawl", free_port(), f"s3://{BUCKET}/later"
    with mock.patch.dict(os.environ, environment(port)):
        done = crawl(bed, out, store=url, volume_bytes=SMALL)
    assert done.why == "done"
    assert done.unstored > 0
    assert done.stored == 0
    with object_store(port):
        plan = stored_plan(out)
        again = run(Plan(seeds=plan.seeds, out=out, settings=plan.settings))
        assert again.unstored == 0
        check_moved(out, url)
        with pytest.raises(UsageError, match="are in a store"):
            run(Plan(seeds=plan.seeds, out=out, settings=plan.settings, fresh=True))


@pytest.mark.restarts
def test_store__under_siege_has_everything_once(bed: Bed, url: str, tmp_path: Path) -> None:
    """Kill -9 of all processes, the uploading one among them: the set of an undisturbed crawl, none twice."""
    out = tmp_path / "crawl"
    options = ["--wait", "0", "--workers", "2", "--volume-bytes", str(SMALL), "--commit-every", "0.1"]
    siege = Siege(command_for(bed, out, *options, "--speed", "100 pages/s", "--store", url), tmp_path / "said.txt")
    begun = len(bed.log())
    try:
        for place in range(4):
            wait_until(lambda place=place: siege.over or len(bed.log()) > begun + 40 * (place + 1), "it stands still")
            if not siege.over:
                siege.stop()
                siege.start()
        assert siege.finish() == 0, said(out)
    finally:
        siege.close()
    check_moved(out, url)
    assert archived(out) == Counter(digests_of(bed.web).items())


def test_store__not_asked_for_imports_nothing() -> None:
    """A crawl without a store loads no client for one."""
    code = (
        "import sys, weft.app, weft.work, weft.cli.show, weft.audit; print([m for m in sys.modules if 'obstore' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
