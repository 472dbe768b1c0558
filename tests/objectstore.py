"""An object store of our own: moto's server, in a process of its own on loopback, with one bucket."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from tests.siege import wait_until

BUCKET = "weft-test"
SECRET = "a-secret-that-nobody-sees"  # noqa: S105


def free_port() -> int:
    """A port that nobody uses at the moment."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def environment(port: int) -> dict[str, str]:
    """What says where the store is."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "weft-key-id",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
    }


@contextmanager
def object_store(port: int = 0) -> Iterator[int]:
    """A store that is up, with an empty bucket; its port."""
    pytest.importorskip("moto")
    port = port or free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _made(port), "the store does not come up")
        with mock.patch.dict(os.environ, environment(port)):
            yield port
    finally:
        process.kill()
        process.wait()


def _made(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("PUT", f"/{BUCKET}")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
