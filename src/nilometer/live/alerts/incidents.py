"""Which groups fire, which are well again, and whom to tell: a pure function of the answers in their order.

A row says that its group is in trouble at the row's time. The rows of a group make one incident as long as no gap
between them is longer than RESOLVE AFTER; a row that comes out of order counts at the time of the newest before it, so
that how answers are cut into commits changes nothing. An incident fires at its first row that is DEBOUNCE after its
beginning. It is resolved when the group's next row, or the query's watermark, is beyond the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from nilometer.errors import ResourceError
from nilometer.live.alerts.settings import AlertSettings

MOST_GROUPS = 100_000
"""The most groups of one alert that are in trouble at a time."""

FIRING, RESOLVED = "firing", "resolved"
Muted = Callable[[str], str | None]
"""Why nobody is told of a group now, by a person's word; None: they are."""


@dataclass(frozen=True)
class Incident:
    """Times are event times in microseconds. `fired` and `told`: when it fired, and when somebody was last told of that;
    None: not yet. `evidence` is the row at which it fired."""

    key: str
    since: int
    last: int
    rows: int = 0
    fired: int | None = None
    told: int | None = None
    acknowledged: str | None = None
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Transition:
    """A decision. `silenced` says why nobody is told."""

    status: str
    incident: Incident
    at: int
    silenced: str | None = None


class Incidents:
    """The open incidents of one alert. `told` has the last message of each group that must stay quiet a while."""

    def __init__(self, settings: AlertSettings, evidence: Callable[[pl.DataFrame], dict[str, Any]]) -> None:
        self.settings = settings
        self._evidence = evidence
        self.open: dict[str, Incident] = {}
        self.told: dict[str, int] = {}
        self.changed: set[str] = set()
        """The groups that have changed since this was last emptied."""

    def take(self, keys: Mapping[str, pl.DataFrame], muted: Muted) -> list[Transition]:
        """The decisions that new answers call for, in the order of their times. `keys` has the rows of each group."""
        found: list[Transition] = []
        for key, own in keys.items():
            found += self._take(key, own, muted)
        return sorted(found, key=lambda one: (one.at, one.incident.key))

    def pass_time(self, watermark: int) -> list[Transition]:
        """The decisions that the passing of event time calls for: no row before the watermark comes any more."""
        found: list[Transition] = []
        resolve, pause = self.settings.resolve, self.settings.pause
        for incident in [one for one in self.open.values() if one.last + resolve < watermark]:
            found += self._close(incident)
        for key in [key for key, at in self.told.items() if at + pause < watermark and key not in self.open]:
            del self.told[key]
        return sorted(found, key=lambda one: (one.at, one.incident.key))

    def close_all(self) -> list[Transition]:
        """The alert has changed: what was open under the old declaration is over."""
        return [one for incident in list(self.open.values()) for one in self._close(incident)]

    # ---- one group ---------------------------------------------------------------------------------------------------

    def _take(self, key: str, rows: pl.DataFrame, muted: Muted) -> Iterator[Transition]:
        before = self.open.get(key)
        times = rows[self.settings.time].cast(pl.Int64).to_numpy()
        if before is not None:
            times = np.maximum(times, before.last)
        times = np.maximum.accumulate(times)
        previous = np.concatenate(([times[0] if before is None else before.last], times[:-1]))
        begins = np.flatnonzero(times - previous > self.settings.resolve)
        bounds = [0, *begins.tolist(), len(times)]
        for first, end in pairwise(bounds):
            if first == end:
                continue
            incident = self.open.get(key)
            if incident is not None and times[first] - incident.last > self.settings.resolve:
                yield from self._close(incident)
                incident = None
            if incident is None:
                if len(self.open) >= MOST_GROUPS:
                    raise ResourceError(
                        f"alert '{self.settings.name}' has {MOST_GROUPS} groups in trouble",
                        hint="group by fewer columns",
                    )
                incident = Incident(key, int(times[first]), int(times[first]))
            incident = replace(incident, last=int(times[end - 1]), rows=incident.rows + end - first)
            yield from self._fire(incident, times[first:end], rows[first:end], muted(key))

    def _fire(
        self, incident: Incident, times: np.ndarray[Any, Any], rows: pl.DataFrame, muted: str | None
    ) -> Iterator[Transition]:
        settings, key = self.settings, incident.key
        due: int | None
        if incident.fired is None:
            due = incident.since + settings.debounce
        elif incident.told is None:
            due = int(times[0])
        elif settings.repeat is not None and incident.acknowledged is None:
            due = incident.told + settings.repeat
        else:
            due = None
        while due is not None:
            place = int(np.searchsorted(times, due))
            if place == len(times):
                break
            at = int(times[place])
            fires = incident.fired is None
            if fires:
                incident = replace(incident, fired=at, evidence=self._evidence(rows[place : place + 1]))
            # An incident of which somebody knows is said again; a new one may have to wait.
            why, due = muted, None
            until = None if settings.quiet is None else settings.quiet.until(at)
            if why is None and until is not None:
                why, due = "a silence is declared for this time", until
            if why is None and incident.told is None and key in self.told:
                rest = self.told[key] + settings.pause
                why, due = ("the group is quiet after its last message", rest) if at < rest else (None, None)
            if why is None:
                incident = replace(incident, told=at)
                if settings.pause:
                    self.told[key] = at
                due = None if settings.repeat is None else at + settings.repeat
                yield Transition(FIRING, incident, at)
            elif fires:
                yield Transition(FIRING, incident, at, why)
        self.open[key] = incident
        self.changed.add(key)

    def _close(self, incident: Incident) -> Iterator[Transition]:
        del self.open[incident.key]
        self.changed.add(incident.key)
        if incident.fired is not None:
            # Whoever knows of the trouble hears of its end, also in a silence.
            why = None if incident.told is not None else "nobody was told that it fired"
            yield Transition(RESOLVED, incident, incident.last + self.settings.resolve, why)

    # ---- kept --------------------------------------------------------------------------------------------------------

    def changes(self) -> dict[str, Any]:
        """The changes since the last call, as JSON."""
        changed, self.changed = sorted(self.changed), set()
        return {
            "open": [asdict(self.open[key]) for key in changed if key in self.open],
            "closed": [key for key in changed if key not in self.open],
            "told": {key: self.told[key] for key in changed if key in self.told},
        }

    def whole(self) -> dict[str, Any]:
        """Everything, as JSON."""
        return {"open": [asdict(one) for one in self.open.values()], "closed": [], "told": dict(self.told)}

    def restore(self, changes: Mapping[str, Any]) -> None:
        """Apply what `changes` has said."""
        for said in changes["open"]:
            self.open[said["key"]] = Incident(**said)
        for key in changes["closed"]:
            self.open.pop(key, None)
        self.told |= changes["told"]


def incident_id(alert: str, incident: Incident) -> str:
    """The same for the same trouble of the same group, whatever happened between.

    >>> incident_id("hot@1a2b", Incident('["a1"]', 5, 9)) == incident_id("hot@1a2b", Incident('["a1"]', 5, 7))
    True
    """
    return blake2b(f"{alert}\n{incident.key}\n{incident.since}".encode(), digest_size=10).hexdigest()
