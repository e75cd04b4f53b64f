"""The state of an alert, as its log tells it: open incidents, deliveries that wait, silences.

    state = fold(records)

Whoever runs the alert keeps it up to date by the same function that makes it from the log, so a crash forgets nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from nilometer.live.alerts.incidents import Incidents
from nilometer.live.alerts.settings import AlertSettings
from nilometer.types import INT_MINIMUM

MOST_WAITING = 10_000
"""The most deliveries of an alert that wait. Beyond, a decision is recorded, and nobody is told of it."""


@dataclass(frozen=True)
class Delivery:
    """A message to send. `id` stays the same however often it is sent; `incident` is the same for firing and resolved."""

    id: str
    incident: str
    status: str
    key: str
    at: int
    since: int
    rows: int
    evidence: dict[str, Any]
    silenced: str | None = None


@dataclass
class Book:
    """`position`: how many answers were judged, of the part of the result log named `part`. `horizon`: the newest event
    time among them. `barrier`: answers up to this time were judged before the query began anew. `attempts` counts those of the first waiting delivery."""

    incidents: Incidents
    part: str = ""
    position: int = 0
    horizon: int = INT_MINIMUM
    barrier: int = INT_MINIMUM
    groups: tuple[str, ...] = ()
    waiting: dict[str, Delivery] = field(default_factory=dict)
    attempts: int = 0
    silences: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By group, "" for all groups: until when, and who said so."""
    sent: int = 0
    failed: int = 0
    fired: int = 0
    trouble: str | None = None

    @staticmethod
    def new(settings: AlertSettings, evidence: Callable[[pl.DataFrame], dict[str, Any]]) -> Book:
        """An empty book."""
        return Book(Incidents(settings, evidence), groups=settings.groups)

    def take(self, record: dict[str, Any], *, own: bool = False) -> None:
        """Take up a record of the log. `own`: the incidents have it already."""
        match record["do"]:
            case "state":
                for name in (
                    "part",
                    "position",
                    "horizon",
                    "barrier",
                    "attempts",
                    "silences",
                    "sent",
                    "failed",
                    "fired",
                ):
                    setattr(self, name, record[name])
                self.groups = tuple(record["groups"])
                self.trouble = record["trouble"]
                self.waiting = {one["id"]: Delivery(**one) for one in record["waiting"]}
                self.incidents.restore(record["incidents"])
            case "decided":
                for name in ("part", "position", "horizon", "barrier"):
                    setattr(self, name, record[name])
                self.groups = tuple(record["groups"])
                if not own:
                    self.incidents.restore(record["incidents"])
                for said in record["deliveries"]:
                    delivery = Delivery(**said)
                    self.fired += delivery.status == "firing" and delivery.id.endswith("-firing")
                    if delivery.silenced is None:
                        self.waiting[delivery.id] = delivery
            case "attempt":
                self.attempts += 1
                self.trouble = record["error"]
                if record["error"] is None or record["given_up"]:
                    if self.waiting.pop(record["id"], None) is not None:
                        self.sent += record["error"] is None
                        self.failed += record["error"] is not None
                    self.attempts = 0
            case "silence":
                if record["until"] is None:
                    self.silences.pop(record["key"], None)
                else:
                    self.silences[record["key"]] = {"until": record["until"], "by": record["by"]}
            case "acknowledge":
                incident = self.incidents.open.get(record["key"])
                if incident is not None:
                    restored = asdict(incident) | {"acknowledged": record["by"]}
                    self.incidents.restore({"open": [restored], "closed": [], "told": {}})

    def state(self) -> dict[str, Any]:
        """The whole, for the beginning of a file."""
        return {
            "part": self.part,
            "position": self.position,
            "horizon": self.horizon,
            "barrier": self.barrier,
            "groups": list(self.groups),
            "attempts": self.attempts,
            "silences": self.silences,
            "sent": self.sent,
            "failed": self.failed,
            "fired": self.fired,
            "trouble": self.trouble,
            "waiting": [asdict(one) for one in self.waiting.values()],
            "incidents": self.incidents.whole(),
        }

    def muted(self, key: str, now: int) -> str | None:
        """Why nobody is told of a group now, by a person's word."""
        for group in (key, ""):
            said = self.silences.get(group)
            if said is not None and now < said["until"]:
                return f"silenced by {said['by']}"
        return None


def key_of(values: tuple[Any, ...]) -> str:
    """The values of a group as text.

    >>> key_of(("a1", 3))
    '["a1",3]'
    """
    return json.dumps(list(values), ensure_ascii=False, separators=(",", ":"), default=str)
