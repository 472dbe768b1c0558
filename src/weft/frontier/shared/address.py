"""The address of a global frontier in a database. In: a URI. Out: what libpq takes, the crawl's schema, and what may be
shown.

A URI is as libpq takes it, and may name the schema: `postgresql://weft@db.example/crawls?schema=news`. Passwords come
from PGPASSWORD or ~/.pgpass, or stand in the address, whose text is then a secret; no message has them.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from weft.errors import UsageError

SCHEMA = "weft"  # where an address names none
ENVIRONMENT = "env:"  # before the name of a variable that has the address
_is_name = re.compile(r"[a-z_][a-z0-9_]{0,40}").fullmatch


class Address(NamedTuple):
    """Where a crawl's tables are."""

    uri: str  # as libpq takes it
    schema: str

    @property
    def shown(self) -> str:
        """For a person: without the password."""
        parts = urlsplit(self.uri)
        user, _, host = parts.netloc.rpartition("@")
        name = user.partition(":")[0]
        query = urlencode([*parse_qsl(parts.query), ("schema", self.schema)], safe="/")
        return urlunsplit(parts._replace(netloc=f"{name}@{host}" if name else host, query=query))


def is_address(text: str) -> bool:
    """Is a text meant as an address, and not as a directory?

    >>> is_address("postgresql://db.example/crawls"), is_address("env:WEFT"), is_address("crawls/first")
    (True, True, False)
    """
    return text.startswith(("postgresql:", "postgres:", ENVIRONMENT))


def complaint(text: str) -> str:
    """What is wrong with an address; nothing: it is good.

    >>> complaint("postgresql://weft@db.example/crawls"), complaint(""), complaint("env:WEFT_DATABASE")
    ('', '', '')
    >>> complaint("mysql://db.example/crawls")
    'write such as postgresql://weft@db.example/crawls, with ?schema=name for one of several crawls'
    """
    if not text or text.startswith(ENVIRONMENT):
        return ""
    parts = urlsplit(text)
    query = dict(parse_qsl(parts.query))
    if parts.scheme not in ("postgresql", "postgres"):
        return "write such as postgresql://weft@db.example/crawls, with ?schema=name for one of several crawls"
    if not _is_name(query.get("schema", SCHEMA)):
        return "give a schema of a-z, 0-9 and _"
    return "leave the password out: PGPASSWORD or ~/.pgpass has it" if "password" in query else ""


def address_in(text: str) -> Address:
    """Read an address.

    >>> address_in("postgresql://me:secret@db.example/crawls?schema=news&sslmode=require").shown
    'postgresql://me@db.example/crawls?sslmode=require&schema=news'
    """
    if not text or (wrong := complaint(text)):
        raise UsageError("this is no address of a global frontier", todo=wrong if text else "give one")
    parts = urlsplit(text)
    query = parse_qsl(parts.query)
    rest = urlencode([pair for pair in query if pair[0] != "schema"], safe="/")
    return Address(urlunsplit(parts._replace(query=rest)), dict(query).get("schema", SCHEMA))


def password_in(text: str) -> str:
    """The password in an address, as it is written; "" where there is none.

    >>> password_in("postgresql://me:secret@db.example/crawls"), password_in("postgresql://me@db.example/x")
    ('secret', '')
    """
    return urlsplit(text).netloc.rpartition("@")[0].partition(":")[2]


def without_password(text: str, *, where: str) -> str:
    """An address as it may stand on a command line."""
    if password_in(text):
        raise UsageError(
            "a password on the command line is seen by everybody on this machine",
            where=where,
            todo="leave it out, and set PGPASSWORD or write it to ~/.pgpass; or give env:NAME",
        )
    return text
