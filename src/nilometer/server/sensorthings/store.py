"""The entities that clients make, and what they say of entities that come from streams: `.nilometer/sensorthings`.

    crc32 {"next": 5, "put": [["Things", 4, {"properties": {...}, "links": {"Locations": [3]}}], ...], "delete": [...]}

A line is one change: a deep insert, an update, a deletion with all that goes with it. The laws: a change is durable
before it is acknowledged, whole or not at all. Only the owner's process writes. A line that a crash has torn is cut
off; a damaged line before it is an error. An id is never given twice.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nilometer.errors import DataError, ResourceError
from nilometer.log.local_files import LocalFiles
from nilometer.log.writer import resources
from nilometer.server.sensorthings.names import Id

FILE = "sensorthings"
MOST = 500_000
"""The most entities that clients may make."""
ENTITY_BYTES = 256 << 10
"""The most bytes of one entity."""
SPARE = 4 << 20
"""The file is rewritten when it is opened with more bytes than this that no longer matter, if they are the most."""

Key = tuple[str, Id]


@dataclass(frozen=True)
class Stored:
    """What a client has said of an entity: properties, and the ids of linked entities (one, or a list)."""

    properties: Mapping[str, Any] = field(default_factory=dict)
    links: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For the file."""
        return {"properties": dict(self.properties), "links": dict(self.links)}


@dataclass
class Change:
    """Entities to be put and deleted, at once. `numbers` is the next free id."""

    numbers: int
    put: dict[Key, Stored] = field(default_factory=dict)
    delete: dict[Key, None] = field(default_factory=dict)

    def number(self) -> int:
        """A new id."""
        self.numbers += 1
        return self.numbers - 1


class EntityStore:
    """Read when it is opened. For all threads; one changes it at a time (`turn`)."""

    def __init__(self, directory: Path) -> None:
        self._files = LocalFiles(directory / ".nilometer")
        self.turn = threading.RLock()
        self.revision = 0
        self.next = 1
        self._all: dict[str, dict[Id, Stored]] = {}
        self._size = 0
        self._index: tuple[int, dict[tuple[str, str, Id], list[Id]]] | None = None
        self._read()

    # ---- looking -----------------------------------------------------------------------------------------------------

    def get(self, name: str, identity: Id) -> Stored | None:
        """What was said of an entity."""
        return self._all.get(name, {}).get(identity)

    def numbers(self, name: str) -> list[int]:
        """The ids of the entities that clients have made, oldest first."""
        return [identity for identity in self._all.get(name, {}) if isinstance(identity, int)]

    def linking(self, name: str, link: str, to: Id) -> list[Id]:
        """The entities of a set that are linked to an entity."""
        with self.turn:
            if self._index is None or self._index[0] != self.revision:
                index: dict[tuple[str, str, Id], list[Id]] = {}
                for kind, entities in self._all.items():
                    for identity, stored in entities.items():
                        for each, ends in stored.links.items():
                            for end in ends if isinstance(ends, list) else [ends]:
                                index.setdefault((kind, each, end), []).append(identity)
                self._index = self.revision, index
            return self._index[1].get((name, link, to), [])

    # ---- changing ----------------------------------------------------------------------------------------------------

    def begin(self) -> Change:
        """A change, for `commit`. The caller has the turn from here until then."""
        return Change(self.next)

    def commit(self, change: Change) -> None:
        """Make a change durable; then it is there."""
        if not change.put and not change.delete:
            return
        entities = sum(map(len, self._all.values())) + len(change.put)
        if entities > MOST:
            raise ResourceError(f"there are {MOST:,} entities, which is as many as there may be")
        record = {
            "next": change.numbers,
            "put": [[*key, stored.as_json()] for key, stored in change.put.items()],
            "delete": [list(key) for key in change.delete],
        }
        self._append(_line(record))
        self._take(record)

    def _append(self, line: bytes) -> None:
        with resources(self._files.place):
            path = self._files.directory / FILE
            if not path.exists():
                self._files.replace(FILE, b"")
            handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.ftruncate(handle, self._size)
                written = 0
                while written < len(line):
                    written += os.pwrite(handle, line[written:], self._size + written)
                os.fsync(handle)
            finally:
                os.close(handle)
        self._size += len(line)

    def _take(self, record: dict[str, Any]) -> None:
        for name, identity, said in record["put"]:
            self._all.setdefault(name, {})[identity] = Stored(said["properties"], said["links"])
        for name, identity in record["delete"]:
            self._all.get(name, {}).pop(identity, None)
        self.next = max(self.next, record["next"])
        self.revision += 1

    # ---- opening -----------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            data = bytes(self._files.read(FILE))
        except FileNotFoundError:
            return
        lines = data.splitlines(keepends=True)
        for number, line in enumerate(lines, 1):
            try:
                record = _record(line)
            except (ValueError, KeyError):
                if number == len(lines):
                    break  # torn by a crash: it was never acknowledged
                raise DataError(
                    f"line {number} of the SensorThings entities is damaged",
                    detail=str(self._files.directory / FILE),
                    hint="take the file from a backup; readings are not in it",
                ) from None
            self._size += len(line)
            self._take(record)
        whole = _line(
            {
                "next": self.next,
                "put": [
                    [name, identity, stored.as_json()]
                    for name, entities in self._all.items()
                    for identity, stored in entities.items()
                ],
                "delete": [],
            }
        )
        if self._size > SPARE + 2 * len(whole):
            with resources(self._files.place):
                self._files.replace(FILE, whole)
            self._size = len(whole)


def _line(record: dict[str, Any]) -> bytes:
    body = json.dumps(record, ensure_ascii=True)
    return f"{zlib.crc32(body.encode()):08x} {body}\n".encode()


def _record(line: bytes) -> dict[str, Any]:
    checksum, _, body = line.partition(b" ")
    if not line.endswith(b"\n") or f"{zlib.crc32(body[:-1]):08x}".encode() != checksum:
        raise ValueError("a damaged line")
    found: dict[str, Any] = json.loads(body)
    return found


def check_size(name: str, entities: Iterable[Stored]) -> None:
    """Refuse an entity that is too large."""
    for stored in entities:
        size = len(json.dumps(stored.as_json()))
        if size > ENTITY_BYTES:
            raise ResourceError(
                f"an entity of {name} has {size} bytes", hint=f"at most {ENTITY_BYTES} are kept"
            )
