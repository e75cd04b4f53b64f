"""The control log of a data directory, `.nilometer/control`: every declaration and change that took effect, in order.

A line is a checksum and a record in JSON. The laws: a change is a record, durable, before it takes effect, with the
offset in each stream's log at which it does; so whoever starts next installs each query at the same place. Only the
owner appends. A line that a crash has torn, without its end or with sectors that were never written, is cut off, and
`cut` says so; any other damaged line is an error.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nilometer.errors import DataError
from nilometer.log import Offset
from nilometer.log.local_files import LocalFiles
from nilometer.log.writer import resources

FILE = "control"
SCHEMA = "schema.sql"
"""The origin of what schema.sql declares; everything else comes from a client."""
CLIENT = "client"
SPARE = 1_000
"""The log is rewritten when it is opened with more than this many records that no longer matter, if they are the most."""
VERSIONED = ("QUERY", "MODEL")
VERSIONS = 20
"""As many declarations of a query or model are kept, the newest; all others keep only their last."""


@dataclass(frozen=True)
class Record:
    """`what` is CREATE, REPLACE, DROP, FORGET (it has left schema.sql; its answers stay), PAUSE, RESUME or ADOPTED (a
    client has changed it since it was taken up from schema.sql). `kind` and
    `name` say of which thing, `text` is the statement. `offsets` is where in its streams' logs a query begins, `effect`
    where a change of it takes effect, and `state` where the state of a replaced query comes from (replaced_state.py)."""

    what: str
    kind: str
    name: str
    text: str = ""
    origin: str = CLIENT
    offsets: Mapping[str, Offset] = field(default_factory=dict)
    at: int = 0
    effect: Mapping[str, Offset] = field(default_factory=dict)
    state: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the thing."""
        return self.kind, self.name.lower()

    def line(self) -> bytes:
        """The record as a line of the file."""
        body = json.dumps(asdict(self) | {"offsets": _written(self.offsets), "effect": _written(self.effect)})
        return f"{zlib.crc32(body.encode()):08x} {body}\n".encode()

    @staticmethod
    def of(line: bytes) -> Record:
        """The inverse of `line`. Raises ValueError."""
        checksum, _, body = line.partition(b" ")
        if not line.endswith(b"\n") or f"{zlib.crc32(body[:-1]):08x}".encode() != checksum:
            raise ValueError("a damaged line")
        found: dict[str, Any] = json.loads(body)
        offsets, effect = (_read(found.pop(name, {})) for name in ("offsets", "effect"))
        if not all(isinstance(value, int if name == "at" else str) for name, value in found.items()):
            raise ValueError("a record of other values")
        return Record(**found, offsets=offsets, effect=effect)


def _written(offsets: Mapping[str, Offset]) -> dict[str, list[int]]:
    return {key: [at.number, at.position] for key, at in offsets.items()}


def _read(written: Mapping[str, list[int]]) -> dict[str, Offset]:
    return {key: Offset(number, at) for key, (number, at) in written.items()}


def _lines(files: LocalFiles) -> list[bytes]:
    try:
        return bytes(files.read(FILE)).splitlines(keepends=True)
    except FileNotFoundError:
        return []


def _record(line: bytes) -> Record | None:
    try:
        return Record.of(line)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def readable(directory: Path) -> tuple[bytes, int]:
    """The lines of a control log that are whole, and how many are not."""
    lines = _lines(LocalFiles(directory / ".nilometer"))
    whole = [line for line in lines if _record(line) is not None]
    return b"".join(whole), len(lines) - len(whole)


class ControlLog:
    """Read when it is opened. `declared` has the last CREATE or REPLACE of each thing that exists, in order;
    `dropped` the things whose last record is DROP."""

    def __init__(self, directory: Path) -> None:
        self._files = LocalFiles(directory / ".nilometer")
        self.declared: dict[tuple[str, str], Record] = {}
        self.dropped: set[tuple[str, str]] = set()
        self.adopted: dict[tuple[str, str], str] = {}
        """The declarations of schema.sql that were taken up; a client may have changed or dropped the thing since."""
        self.replaced: dict[tuple[str, str], str] = {}
        """The texts that the last REPLACE of each thing has replaced."""
        self.versions: dict[tuple[str, str], tuple[Record, ...]] = {}
        """The declarations of each query and model that exists, oldest first, at most `VERSIONS`."""
        self.records = 0
        self.cut = 0
        """The bytes of a line at the end that a crash has torn."""
        lines = _lines(self._files)
        self._size = 0
        for number, line in enumerate(lines, 1):
            record = _record(line)
            if record is None and number == len(lines) and (not line.endswith(b"\n") or b"\0" in line):
                self.cut = len(line)  # it never took effect
                break
            if record is None:
                raise DataError(
                    f"line {number} of the control log is damaged",
                    detail=str(self._files.directory / FILE),
                    hint="take it from a backup; or nilometer log repair keeps all other lines",
                )
            self._size += len(line)
            self._take(record)

    def append(self, record: Record) -> None:
        """Make a record durable. Only the owner calls this."""
        if self.records > SPARE + 2 * len(self.declared) and self.records > SPARE + 2 * self._needed():
            self._rewrite()
        with resources(self._files.place):
            path = self._files.directory / FILE
            if not path.exists():
                self._files.replace(FILE, b"")
            handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.ftruncate(handle, self._size)
                line = record.line()
                written = 0
                while written < len(line):
                    written += os.pwrite(handle, line[written:], self._size + written)
                os.fsync(handle)
            finally:
                os.close(handle)
        self._size += len(line)
        self._take(record)

    def append_all(self, records: Sequence[Record]) -> None:
        """Make several records durable together: all of them or none. A field of 20,000 sensors costs one fsync."""
        if len(records) == 1:
            self.append(records[0])
        if len(records) < 2:
            return
        with resources(self._files.place):
            kept = b"".join(_lines(self._files))[: self._size]
            data = kept + b"".join(record.line() for record in records)
            self._files.replace(FILE, data)
        self._size = len(data)
        for record in records:
            self._take(record)

    def _rewrite(self) -> None:
        """Keep only what matters."""
        kept = (self.versions.get(key, (record,)) for key, record in self.declared.items())
        data = b"".join(record.line() for versions in kept for record in versions)
        data += b"".join(Record("ADOPTED", *key, text, SCHEMA).line() for key, text in self.adopted.items())
        data += b"".join(Record("DROP", *key).line() for key in sorted(self.dropped))
        with resources(self._files.place):
            self._files.replace(FILE, data)
        self._size = len(data)
        self.records = self._needed()

    def _needed(self) -> int:
        """How many records matter."""
        older = sum(len(versions) - 1 for versions in self.versions.values())
        return len(self.declared) + older + len(self.dropped) + len(self.adopted)

    def _take(self, record: Record) -> None:
        self.records += 1
        if record.origin == SCHEMA and record.what in ("CREATE", "REPLACE", "ADOPTED"):
            self.adopted[record.key] = record.text
        elif record.origin == SCHEMA:
            self.adopted.pop(record.key, None)
        match record.what:
            case "CREATE" | "REPLACE":
                before = self.declared.get(record.key)
                if before is not None and record.what == "REPLACE":
                    self.replaced[record.key] = before.text
                else:
                    self.replaced.pop(record.key, None)
                self.declared[record.key] = record
                if record.kind in VERSIONED:
                    self.versions[record.key] = (*self.versions.get(record.key, ()), record)[-VERSIONS:]
                self.dropped.discard(record.key)
            case "DROP" | "FORGET":
                self.declared.pop(record.key, None)
                self.versions.pop(record.key, None)
                if record.what == "DROP":
                    self.dropped.add(record.key)

    def forget_dropped(self, key: tuple[str, str]) -> None:
        """The leftovers of a dropped thing are gone."""
        self.dropped.discard(key)
