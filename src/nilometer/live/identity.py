"""The identity of a data directory: random, made once, kept beside its logs.

A broker keeps a session for each client name. The client name contains the directory's identity, so two
gateways (or a developer's directory and the production one) have separate sessions, and neither takes the
other's readings.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from nilometer.log.local_files import LocalFiles
from nilometer.log.writer import resources

FILE = "identity"


def identity_of(directory: Path) -> str:
    """The directory's identity, created at the first call."""
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
