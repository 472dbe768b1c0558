"""Where the volumes of a crawl are. In: the crawl's directory. Out: the directories in which its volumes may be.

Commits, columns and lists call a volume `volumes/NAME`, wherever it is. By default it is in the crawl's own `volumes`;
other directories, on other disks, are listed in `volumes.json` before anything is written there, and stay listed: a run
may be given others than the one before. Each of them belongs to one crawl, whose id it carries. A file that was moved
from a full disk to another may be in two of them, until the old one is removed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from weft.disk import replace_file, writing
from weft.errors import UsageError, WeftError

VOLUMES = "volumes"
LISTED = "volumes.json"
OWNER = "weft-crawl.json"  # in each directory: whose it is


class _Places(msgspec.Struct):
    """What is listed."""

    crawl: str  # its id
    folders: list[str] = []


class _Owner(msgspec.Struct):
    """Whose a directory is."""

    crawl: str
    out: str  # for people: where it was


def volume_folders(root: Path) -> list[Path]:
    """Every directory where volumes of a crawl may be, its own first."""
    return [root / VOLUMES, *map(Path, _listed(root).folders)]


def folder_of(root: Path, name: str) -> list[Path]:
    """Every directory where a file may be that commits and lists call so."""
    folder = name.partition("/")[0]
    return volume_folders(root) if folder == VOLUMES else [root / folder]


def places_of(root: Path, name: str) -> list[Path]:
    """Every path that a file may have which commits and lists call so."""
    return [folder / name.rpartition("/")[2] for folder in folder_of(root, name)]


def located(root: Path, name: str) -> Path:
    """Where a file is; where it would be, if it is nowhere."""
    places = places_of(root, name)
    return next((path for path in places if path.exists()), places[0])


def name_of(root: Path, path: Path) -> str:
    """What commits and lists call a file, wherever it is."""
    known = path.parent != root / VOLUMES and path.parent in volume_folders(root)
    return f"{VOLUMES}/{path.name}" if known else str(path.relative_to(root))


def writing_folders(root: Path, given: Sequence[str]) -> list[Path]:
    """Where a run writes its volumes, the first choice first."""
    own = root / VOLUMES
    folders = (Path(each).absolute() for each in given)
    return [own if folder == own.absolute() else folder for folder in folders] or [own]


def take_folders(root: Path, given: Sequence[str]) -> None:
    """Make the directories of a run, and list them: before anything is written there. One that is another crawl's, or
    has something else in it, is refused.
    """
    folders = [folder for folder in dict.fromkeys(writing_folders(root, given)) if folder != root / VOLUMES]
    known = _listed(root)
    if not folders:
        return
    for folder in folders:
        _check(root, folder, known.crawl)
    places = _Places(known.crawl or secrets.token_hex(8), list(known.folders))
    new = [str(folder) for folder in folders if str(folder) not in places.folders]
    if new or not known.crawl:
        places.folders += new
        with writing(root / LISTED):
            replace_file(root / LISTED, msgspec.json.encode(places) + b"\n")
    for folder in folders:
        owner = folder / OWNER
        with writing(owner):
            folder.mkdir(parents=True, exist_ok=True)
            if not owner.exists():
                replace_file(owner, msgspec.json.encode(_Owner(places.crawl, str(root.absolute()))) + b"\n")


def check_folders(root: Path, given: Sequence[str]) -> None:
    """Refuse directories that this crawl may not use; nothing is written."""
    for folder in writing_folders(root, given):
        if folder != root / VOLUMES:
            _check(root, folder, _listed(root).crawl)


def own_folders(root: Path) -> Iterable[Path]:
    """The listed directories that are there, and are this crawl's."""
    known = _listed(root)
    for folder in map(Path, known.folders):
        if (folder / OWNER).exists() and _owner(folder).crawl == known.crawl:
            yield folder


def _check(root: Path, folder: Path, crawl: str) -> None:
    if folder.is_relative_to(root.absolute()):
        raise UsageError(
            "volumes cannot be written to another place inside the crawl's own directory",
            where=str(folder),
            todo="give directories elsewhere; without --volumes they are in volumes/ of the crawl",
        )
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError("volumes need a directory, and this is none", where=str(folder), todo="give another")
    if not (folder / OWNER).exists():
        if any(each.name != "lost+found" for each in folder.iterdir()):
            raise UsageError(
                "volumes need a directory of their own, and this has something else in it",
                where=str(folder),
                todo="give a new or empty one, such as a directory below it",
            )
        return
    owner = _owner(folder)
    if owner.crawl != crawl:
        raise UsageError(
            f"the volumes of another crawl are here, of {owner.out}",
            where=str(folder),
            todo="give a directory of its own to each crawl",
        )


def _listed(root: Path) -> _Places:
    path = root / LISTED
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Places)
    except FileNotFoundError:
        return _Places("")
    except (OSError, msgspec.MsgspecError) as error:
        raise WeftError(
            f"the list of the directories with volumes cannot be read: {error}",
            where=str(path),
            todo="put it back from a copy",
        ) from error


def _owner(folder: Path) -> _Owner:
    path = folder / OWNER
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Owner)
    except (OSError, msgspec.MsgspecError) as error:
        raise WeftError(
            f"it cannot be told whose volumes these are: {error}", where=str(path), todo="is the disk whole?"
        ) from error
