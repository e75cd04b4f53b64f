"""A data directory's name for itself: random, made once, kept beside its logs.

A broker keeps a session for each client it knows. With the directory's identity in the client's name, two gateways, or a developer's
directory and production's, each have their own, and neither takes the other's readings.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from nilometer.log.local_files import LocalFiles
from nilometer.log.writer import resources

FILE = "identity"


def identity_of(directory: Path) -> str:
    """The directory's identity; made when it is first asked for."""
    files = LocalFiles(directory / ".nilometer")
    with resources(files.place):
        try:
            found = bytes(files.read(FILE)).decode().strip()
        except FileNotFoundError:
            found = ""
        if not found:
            found = secrets.token_hex(4)
            files.replace(FILE, found.encode())
    return found
