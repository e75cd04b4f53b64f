"""The alerts of a data directory and their state, from their logs; nothing need be running."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nilometer.catalog import QueryDefinition
from nilometer.errors import ConfigurationError
from nilometer.live.alerts.alert_log import history, last_file
from nilometer.live.alerts.book import Book
from nilometer.live.alerts.settings import AlertSettings, settings_of
from nilometer.redaction import redacted
from nilometer.types import format_time

if TYPE_CHECKING:
    from nilometer.live.declarations import Declarations


@dataclass(frozen=True)
class AlertState:
    """An alert. `firing` and `pending` are its groups."""

    name: str
    statement: str
    address: str
    firing: list[dict[str, Any]] = field(default_factory=list)
    pending: list[dict[str, Any]] = field(default_factory=list)
    silences: list[dict[str, Any]] = field(default_factory=list)
    fired: int = 0
    sent: int = 0
    failed: int = 0
    waiting: int = 0
    trouble: str | None = None

    @property
    def state(self) -> str:
        """firing, pending or quiet."""
        return "firing" if self.firing else "pending" if self.pending else "quiet"

    def as_dict(self) -> dict[str, Any]:
        """All fields by name."""
        return {"state": self.state} | self.__dict__

    def summary(self) -> dict[str, Any]:
        """One line of a list."""
        return {
            "name": self.name,
            "state": self.state,
            "firing": len(self.firing),
            "pending": len(self.pending),
            "silenced": bool(self.silences),
            "fired": self.fired,
            "sent": self.sent,
            "waiting": self.waiting,
            "failed": self.failed,
            "to": self.address,
            "trouble": self.trouble,
        }


def alert_list(database: Declarations) -> list[AlertState]:
    """All alerts; without a data directory only what they say."""
    return [alert_state(database.data.base, definition) for definition in database.catalog.reactions("ALERT")]


def definition_of(database: Declarations, name: str) -> QueryDefinition:
    """A declared alert."""
    for definition in database.catalog.reactions("ALERT"):
        if definition.name.lower() == name.lower():
            return definition
    known = ", ".join(one.name for one in database.catalog.reactions("ALERT")) or "none"
    raise ConfigurationError(f"there is no alert '{name}'", hint=f"declared are: {known}")


def alert_state(directory: Path | None, definition: QueryDefinition) -> AlertState:
    """The state of one alert."""
    assert definition.made_by is not None, "a query that is no alert"
    settings = settings_of(definition.made_by, definition.columns)
    statement = definition.made_by.replace(settings.address, redacted(settings.address))
    book = Book.new(settings, lambda _: {})
    for record in last_file(directory, definition.name) if directory is not None else ():
        book.take(record)
    now = time.time_ns() // 1_000
    groups = {"firing": [], "pending": []}  # type: dict[str, list[dict[str, Any]]]
    for incident in book.incidents.open.values():
        kind = "pending" if incident.fired is None else "firing"
        groups[kind].append(
            {
                "group": _group(settings, incident.key),
                "since": format_time(incident.since),
                "last": format_time(incident.last),
                "rows": incident.rows,
                "acknowledged": incident.acknowledged,
                "row": incident.evidence,
            }
        )
    silences = [
        {"group": _group(settings, key) if key else None, "until": format_time(one["until"]), "by": one["by"]}
        for key, one in book.silences.items()
        if one["until"] > now
    ]
    return AlertState(
        definition.name,
        statement,
        redacted(settings.address),
        groups["firing"],
        groups["pending"],
        silences,
        book.fired,
        book.sent,
        book.failed,
        len(book.waiting),
        book.trouble,
    )


def deliveries(directory: Path, definition: QueryDefinition) -> Iterator[dict[str, Any]]:
    """What became of the alert's messages, newest decision first. A message that was tried names its attempts."""
    assert definition.made_by is not None, "a query that is no alert"
    settings = settings_of(definition.made_by, definition.columns)
    attempts: dict[str, list[dict[str, Any]]] = {}
    for record in history(directory, definition.name):
        if record["do"] == "attempt":
            attempts.setdefault(record["id"], []).append(record)
        elif record["do"] == "decided":
            for one in reversed(record["deliveries"]):
                tried = attempts.get(one["id"], [])
                yield {
                    "id": one["id"],
                    "incident": one["incident"],
                    "status": one["status"],
                    "group": _group(settings, one["key"]),
                    "at": format_time(one["at"]),
                    "decided": format_time(record["at"]),
                    "outcome": _outcome(one, tried),
                    "attempts": len(tried),
                    "error": tried[0]["error"] if tried else None,
                    "row": one["evidence"],
                }
        elif record["do"] in ("silence", "acknowledge"):
            until = record.get("until")
            yield {
                "id": None,
                "status": record["do"] if until is not None or record["do"] != "silence" else "speak",
                "group": _group(settings, record["key"]) if record["key"] else None,
                "decided": format_time(record["at"]),
                "outcome": f"by {record['by']}" + ("" if until is None else f" until {format_time(until)}"),
            }


def _outcome(delivery: dict[str, Any], attempts: list[dict[str, Any]]) -> str:
    if delivery["silenced"] is not None:
        return f"not sent: {delivery['silenced']}"
    if any(one["error"] is None for one in attempts):
        return "delivered"
    if any(one["given_up"] for one in attempts):
        return "given up"
    return "waits"


def _group(settings: AlertSettings, key: str) -> dict[str, Any]:
    return dict(zip(settings.groups, json.loads(key), strict=False))
