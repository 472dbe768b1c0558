"""Real inputs, out of the folder of shared data. What is missing there is no input; who runs a target says how many
there were.
"""

from __future__ import annotations

import gzip
import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
_MOST = 400  # of one kind: a corpus is to be gone through in a few seconds


def files(folder: Path, pattern: str) -> list[bytes]:
    """The files of a folder."""
    return [path.read_bytes() for path in sorted(folder.glob(pattern)) if path.is_file()][:_MOST]


def packed(path: Path) -> list[bytes]:
    """Members of a tar archive: some, from all over it."""
    if not path.exists():
        return []
    with tarfile.open(path) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        chosen = members[:: max(1, len(members) // _MOST)]
        return [opened.read() for member in chosen if (opened := archive.extractfile(member))]


def lines(path: Path) -> list[bytes]:
    """Lines of a text, which may be compressed."""
    if not path.exists():
        return []
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    found = text.splitlines()
    return found[:: max(1, len(found) // _MOST)]


def strings(path: Path) -> list[bytes]:
    """Every text in a JSON file, or one of JSON lines."""
    if not path.exists():
        return []
    text = path.read_text("utf-8")
    documents = map(json.loads, text.splitlines()) if path.suffix == ".jsonl" else [json.loads(text)]
    found = [each.encode("utf-8", "surrogatepass") for document in documents for each in _strings(document)]
    return list(dict.fromkeys(found))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, dict):
        yield from _strings([*value.keys(), *value.values()])


def html_cases(folder: Path) -> list[bytes]:
    """Documents of the tree-construction tests of html5lib."""
    found = [
        part.partition(b"\n#errors\n")[0]
        for path in sorted(folder.glob("*.dat"))
        for part in re.split(rb"(?:^|\n)#data\n", path.read_bytes())[1:]
    ]
    return found[:: max(1, len(found) // _MOST)]


def answers(folder: Path, *, heads: bool = False) -> list[bytes]:
    """Bodies of real answers, or their heads."""
    found: dict[bytes, None] = {}
    for path in sorted(folder.glob("*.warc.gz")):
        with path.open("rb") as stream:
            try:
                for record in ArchiveIterator(stream):
                    if record.rec_type == "response" and record.http_headers:
                        head = str(record.http_headers).encode("latin-1", "replace")
                        found[head if heads else record.content_stream().read(65_536)] = None
                    if len(found) >= _MOST:
                        return list(found)
            except Exception:  # noqa: BLE001, S112  some of them are broken on purpose
                continue
    return list(found)
