"""The identity of a data directory: random, made once, kept beside its logs.

A broker keeps a session for each client name. The client name contains the directory's identity, so two
gateways (or a developer's directory and the production one) have separate sessions, and neither takes the
other's readings.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from nilometer.errors import DataError
from nilometer.log.local_files import LocalFiles
from nilometer.log.writer import resources

FILE = "identity"
_FORM = re.compile(rb"[0-9A-Za-z_-]{1,64}")


def identity_of(directory: Path) -> str:
    """The directory's identity, created at the first call."""
    files = LocalFiles(directory / ".nilometer")
    with resources(files.place):
        try:
            kept = bytes(files.read(FILE)).strip()
        except FileNotFoundError:
            kept = b""
        if kept and not _FORM.fullmatch(kept):
            raise DataError(
                f"the identity of this data directory is damaged: {directory / '.nilometer' / FILE}",
                detail=f"found {kept[:20]!r}, expected eight hexadecimal digits",
                hint="put the file back from a copy; or delete it, and brokers will not know this directory "
                "again: what they kept for it is not delivered",
            )
        found = kept.decode()
        if not found:
            found = secrets.token_hex(4)
            files.replace(FILE, found.encode())
    return found
