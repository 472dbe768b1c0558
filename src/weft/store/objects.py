"""Objects in an S3-compatible store. In: URLs such as s3://bucket/prefix/NAME. Out: what is there.

Endpoint, region and credentials come from the environment, under the names that AWS gave them; weft never writes them
down. What a store says becomes a `StoreAwayError`, without them. Whether an object is what was uploaded is told by its
length and its entity tag, which is an MD5, of the whole or of the MD5s of its parts; where a store makes others, the
object is read back.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import obstore
from isal import isal_zlib
from obstore.exceptions import BaseError
from obstore.store import S3Store

from weft.errors import WeftError

PART = 16 << 20  # bytes of a part: 10,000 of them are allowed
_AT_ONCE = 4  # parts
_READ = 1 << 20
_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_TOKEN")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_LONGEST_SAID = 300  # characters of what a store says
_RETRIES: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}


class StoreAwayError(WeftError):
    """The store does not do what was asked, for now."""


class Object(NamedTuple):
    """What a store says of an object."""

    length: int
    tag: str


class Content(NamedTuple):
    """What a file is, to be compared with an object."""

    length: int
    checksum: int  # as in `sealed.log`
    tag: str  # that an object has which is uploaded from it


def content_of(path: Path) -> Content:
    """Read a file once."""
    length = checksum = 0
    tags: list[bytes] = []
    with path.open("rb", buffering=0) as file:
        while part := file.read(PART):
            length += len(part)
            checksum = isal_zlib.crc32(part, checksum)
            tags.append(hashlib.md5(part, usedforsecurity=False).digest())
    if length > PART:
        return Content(
            length, checksum, f"{hashlib.md5(b''.join(tags), usedforsecurity=False).hexdigest()}-{len(tags)}"
        )
    return Content(length, checksum, (tags[0] if tags else hashlib.md5(b"", usedforsecurity=False).digest()).hex())


def find(url: str) -> Object | None:
    """What is known of an object; None where there is none."""
    store, key = _opened(url)
    with _asking(url):
        try:
            about = obstore.head(store, key)
        except FileNotFoundError:
            return None
    return Object(about["size"], (about["e_tag"] or "").strip('"'))


def upload(path: Path, url: str) -> None:
    """Put a file there, whole or not at all."""
    store, key = _opened(url)
    with _asking(url), path.open("rb") as file:
        large = os.fstat(file.fileno()).st_size > PART
        obstore.put(store, key, file, use_multipart=large, chunk_size=PART, max_concurrency=_AT_ONCE)


def is_there(url: str, content: Content) -> bool:
    """Is a file's content there, every byte of it?"""
    found = find(url)
    if found is None or found.length != content.length:
        return False
    return found.tag == content.tag or checksum_of(url) == (content.length, content.checksum)


def read_range(url: str, offset: int, length: int) -> bytes:
    """Some bytes of an object."""
    store, key = _opened(url)
    with _asking(url):
        return bytes(obstore.get_range(store, key, start=offset, length=length))


def chunks(url: str) -> Iterator[bytes]:
    """An object, from its beginning to its end."""
    store, key = _opened(url)
    with _asking(url):
        for chunk in obstore.get(store, key).stream(min_chunk_size=_READ):
            yield bytes(chunk)


def checksum_of(url: str) -> tuple[int, int] | None:
    """Read an object: its length and its checksum; None where there is none."""
    store, key = _opened(url)
    length = checksum = 0
    with _asking(url):
        try:
            answer = obstore.get(store, key)
        except FileNotFoundError:
            return None
        for chunk in answer.stream(min_chunk_size=_READ):
            length += len(chunk)
            checksum = isal_zlib.crc32(bytes(chunk), checksum)
    return length, checksum


@contextmanager
def _asking(url: str) -> Iterator[None]:
    try:
        yield
    except (BaseError, OSError, ValueError) as error:
        raise StoreAwayError(
            f"the store does not do what was asked: {_said(error)}",
            where=url,
            todo="does it answer, and are AWS_ENDPOINT_URL, AWS_REGION and the credentials in the environment right?",
        ) from None  # what is behind it may show credentials


def _said(error: Exception) -> str:
    """What a store says, in one line and without credentials."""
    text = " ".join(str(error).split()).partition(" Debug source")[0]
    for name in _SECRETS:
        if os.environ.get(name):
            text = text.replace(os.environ[name], "…")
    return text if len(text) <= _LONGEST_SAID else f"{text[:_LONGEST_SAID]}…"


def _opened(url: str) -> tuple[S3Store, str]:
    """The bucket of an object, and its key there."""
    bucket, _, key = url.removeprefix("s3://").partition("/")
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    return _bucket(bucket, endpoint), key


@lru_cache(maxsize=8)
def _bucket(name: str, endpoint: str) -> S3Store:
    options: Any = {"connect_timeout": "5s", "timeout": "300s"}
    if endpoint.startswith("http:"):  # whoever names such an endpoint means it
        options["allow_http"] = True
    with _asking(f"s3://{name}"):
        return S3Store(name, client_options=options, retry_config=_RETRIES)
