"""The versions of a standing query or of a model: each declaration of it in the control log, with the place in the
streams' logs at which it took effect.

    nilometer queries versions smoky --data field/

The law: a version is a record that was durable before it took effect; nothing is computed here. At most the newest
`VERSIONS` are kept (owner/control_log.py). A thing that was dropped has none, and one that is created again under its
name begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nilometer.live.owner.control_log import ControlLog, Record
from nilometer.redaction import redacted_text
from nilometer.types import format_time


@dataclass(frozen=True)
class DeclaredVersion:
    """`installed` is when, in microseconds; `origin` is "schema.sql" or "client". `offsets` is the number of readings in
    each stream's log before the first one that this version read. `state` is where the state of a replacing query comes
    from, as its REPLACE said. `current`: the newest, which runs."""

    text: str
    installed: int
    origin: str
    offsets: Mapping[str, int]
    state: str
    current: bool

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "text": self.text,
            "installed": format_time(self.installed),
            "origin": self.origin,
            "offsets": dict(self.offsets),
            "state": self.state or None,
            "current": self.current,
        }


def versions_of(records: Sequence[Record]) -> list[DeclaredVersion]:
    """The versions of a thing, newest first, from its records, oldest first."""
    found = [
        DeclaredVersion(
            redacted_text(record.text),
            record.at,
            record.origin,
            {stream: at.position for stream, at in {**record.offsets, **record.effect}.items()},
            record.state,
            record is records[-1],
        )
        for record in records
    ]
    return found[::-1]


def versions_at(directory: Path, kind: str, name: str) -> list[DeclaredVersion]:
    """The versions of a query or model of a data directory; none if no owner has taken it up yet."""
    return versions_of(ControlLog(directory).versions.get((kind, name.lower()), ()))
