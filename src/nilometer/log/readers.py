"""Named readers of a log, with their committed offsets: `readers/<name>.json`, replaced atomically and
durably.

The law: after a crash, a reader reads again what it has not committed; retention keeps those rows
(retention.py).
"""

from __future__ import annotations

import contextlib
import json
import re

from nilometer.errors import ConfigurationError, DataError
from nilometer.log.checksum import checksum_of
from nilometer.log.files import Files
from nilometer.log.reader import LIMIT, Cursor, LogEntry, Offset
from nilometer.log.resources import resources
from nilometer.log.schema import Dtypes
from nilometer.log.segment import OnDamage, refuse

FOLDER = "readers"
ENDING = ".json"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@=+-]{0,99}")


def offsets(files: Files) -> dict[str, Offset]:
    """The named readers and their offsets."""
    found = {}
    for name in files.names(FOLDER):
        if name.endswith(ENDING):
            offset = stored_offset(files, name.removesuffix(ENDING))
            if offset is not None:
                found[name.removesuffix(ENDING)] = offset
    return found


def readable_offsets(files: Files) -> dict[str, Offset]:
    """The named readers and their offsets, without those that are damaged: `verify` reports them."""
    found = {}
    for file in files.names(FOLDER):
        with contextlib.suppress(DataError):
            name = file.removesuffix(ENDING)
            offset = stored_offset(files, name) if file.endswith(ENDING) else None
            if offset is not None:
                found[name] = offset
    return found


def stored_offset(files: Files, name: str) -> Offset | None:
    """A reader's offset; None if no reader has this name."""
    path = _path(name)
    try:
        data = bytes(files.read(path))
    except FileNotFoundError:
        return None
    try:
        whole = json.loads(data)
        number, position, checksum = whole["number"], whole["position"], whole["checksum"]
        if checksum == _checksum(number, position):
            return Offset(number, position)
    except (ValueError, KeyError, TypeError):
        pass
    raise DataError(
        f"the offset of reader '{name}' is damaged",
        detail=path,
        hint="delete the file to read from the start",
    )


def store_offset(files: Files, name: str, offset: Offset) -> None:
    """Set the reader's offset, durably."""
    checksum = _checksum(offset.number, offset.position)
    record = {"number": offset.number, "position": offset.position, "checksum": checksum}
    with resources(files.place):
        files.replace(_path(name), json.dumps(record).encode())


def forget_reader(files: Files, name: str) -> None:
    """Delete the reader; retention no longer waits for it."""
    files.delete(_path(name))


class NamedReader:
    """Reads from its committed offset on."""

    def __init__(
        self,
        files: Files,
        name: str,
        start: Offset,
        dtypes: Dtypes | None = None,
        on_damage: OnDamage = refuse,
    ) -> None:
        self.name = name
        self._files = files
        stored = stored_offset(files, name)
        self.committed = stored if stored is not None else start
        if stored is None:
            # Stored at once, so that retention knows the reader before it has read anything.
            store_offset(files, name, start)
        self._cursor = Cursor(files, self.committed, dtypes, on_damage)

    @property
    def offset(self) -> Offset:
        """The offset of the next entry, committed or not."""
        return self._cursor.offset

    @property
    def skipped(self) -> int:
        """Rows that were deleted (`trim --force`) before it read them."""
        return self._cursor.skipped

    def read(self, limit: int = LIMIT) -> list[LogEntry]:
        """The next entries, with at most `limit` rows; empty if there are no more now."""
        return self._cursor.read(limit)

    def commit(self, offset: Offset | None = None) -> None:
        """Commit: everything before the offset has been processed. The default offset is that of the next
        `read`.
        """
        wanted = offset if offset is not None else self._cursor.offset
        store_offset(self._files, self.name, wanted)
        self.committed = wanted


def _path(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"'{name}' cannot be the name of a reader",
            hint="use letters, digits and _ . @ = + -, at most 100",
        )
    return f"{FOLDER}/{name}{ENDING}"


def _checksum(number: int, position: int) -> str:
    return f"{checksum_of(f'{number} {position}'.encode()):016x}"
