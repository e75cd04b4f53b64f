"""Who changed what: `.nilometer/audit.log`, a checksum and a record in each line, durable before the change is answered.

    {"at": 1794997799000000, "who": "anna", "did": "execute", "what": "DROP QUERY smoky", "told": "..."}

Declarations, drops, tokens, silences, acknowledgements and verdicts are in it; questions and readings are not. Any process
may append: each takes the file's lock for as long as that takes. Addresses are written without their secrets.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nilometer.log.json_lines import line_of, read_records
from nilometer.log.private import make_directory
from nilometer.log.writer import resources
from nilometer.redaction import redacted_text

FOLDER = ".nilometer"
FILE, BEFORE = "audit.log", "audit.log.1"
FILE_BYTES = 16 << 20
"""Then the file becomes the one before, which is kept until the next one is full."""
TEXT = 10_000
"""The most characters of a statement that are kept."""


def note(directory: Path, who: str | None, did: str, what: str, told: str = "") -> None:
    """Record that somebody (by default: the user of this process) did something."""
    record = {
        "at": time.time_ns() // 1_000,
        "who": who or local_user(),
        "did": did,
        "what": redacted_text(what)[:TEXT],
        "told": redacted_text(told)[:TEXT],
    }
    folder = directory / FOLDER
    with resources(str(folder)):
        make_directory(folder)
        path = folder / FILE
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                # A crash has torn the last line: it was never acknowledged.
                data = os.pread(file, size, 0)
                os.ftruncate(file, data.rfind(b"\n") + 1)
            os.write(file, line_of(record))
            os.fsync(file)
            if size >= FILE_BYTES:
                os.replace(path, folder / BEFORE)
        finally:
            os.close(file)


def history(directory: Path) -> Iterator[dict[str, Any]]:
    """All records that are kept, newest first."""
    for name in (FILE, BEFORE):
        yield from reversed(read_records(directory / FOLDER / name))


def local_user() -> str:
    """The user of this process."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
