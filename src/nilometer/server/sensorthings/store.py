"""The entities that clients make, and what they say of entities that come from streams: `.nilometer/sensorthings`.

    crc32 {"next": 5, "put": [["Things", 4, {"properties": {...}, "links": {"Locations": [3]}}], ...], "delete": [...]}

A line is one change: a deep insert, an update, a deletion with all that goes with it. The laws: a change is durable
before it is acknowledged, whole or not at all. Only the owner's process writes. A line that a crash has torn is cut
off; a damaged line before it is an error. An id is never given twice.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nilometer.errors import ConfigurationError, ResourceError
from nilometer.log.json_lines import JsonLog, line_of
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
        self._log = JsonLog(directory / ".nilometer", FILE)
        self.turn = threading.RLock()
        self.revision = 0
        self.next = 1
        self._all: dict[str, dict[Id, Stored]] = {}
        self._index: tuple[int, dict[tuple[str, str, Id], list[Id]]] | None = None
        for record in self._log.records:
            self._take(record)
        self._log.records = []
        self._begin_anew()

    # ---- looking -----------------------------------------------------------------------------------------------------

    def get(self, name: str, identity: Id) -> Stored | None:
        """The properties and links that clients gave an entity."""
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
        self._log.append(record)
        self._take(record)

    def _take(self, record: dict[str, Any]) -> None:
        for name, identity, said in record["put"]:
            self._all.setdefault(name, {})[identity] = Stored(said["properties"], said["links"])
        for name, identity in record["delete"]:
            self._all.get(name, {}).pop(identity, None)
        self.next = max(self.next, record["next"])
        self.revision += 1

    def _begin_anew(self) -> None:
        """Forget the lines that no longer matter."""
        put = [
            [name, identity, stored.as_json()]
            for name, entities in self._all.items()
            for identity, stored in entities.items()
        ]
        record = {"next": self.next, "put": put, "delete": []}
        if self._log.size > SPARE + 2 * len(line_of(record)):
            self._log.begin(record)


def check_size(name: str, entities: Iterable[Stored]) -> None:
    """Refuse an entity that is too large."""
    for stored in entities:
        try:
            size = len(json.dumps(stored.as_json(), ensure_ascii=False).encode())
        except UnicodeEncodeError:
            raise ConfigurationError("half of a surrogate pair is no text") from None
        if size > ENTITY_BYTES:
            raise ResourceError(
                f"an entity of {name} has {size} bytes", hint=f"at most {ENTITY_BYTES} are kept"
            )
