"""A moment from which queries see the streams: their inlets, and the groups that move in one round.

One `step` admits what has arrived and moves every group by one round. It never waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nilometer.dataflow.failures import failure_of
from nilometer.dataflow.group import Group
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.pushed import Arrival, PushedInlet
from nilometer.dataflow.schedulers import Status
from nilometer.errors import NilometerError


@dataclass(frozen=True)
class Failure:
    """Why a query stopped, and what had become of its readings by then."""

    error: NilometerError
    ledger: QueryLedger


class Start:
    """`moved` once something of the streams has come: whoever is installed later sees only what comes after. `restored` tells the
    states apart from which queries of one start went on. `failures` are the queries that met an error, by name."""

    def __init__(self, key: object, restored: bytes = b"") -> None:
        self.key = key
        self.restored = restored
        self.inlets: dict[str, PushedInlet] = {}
        self.groups: list[Group] = []
        self.moved = False
        self.failures: dict[str, Failure] = {}

    @property
    def name(self) -> str:
        """Under which the scheduler knows it."""
        return str(self.key)

    def step(self) -> Status:
        """A round of every group, if there is anything to do and room for the answers."""
        groups = [group for group in self.groups if group.roots]
        if not all(group.room for group in groups):
            return Status.BLOCKED
        due = [group for group in groups if group.due]
        if due:
            for group in due:
                self._stop(group, group.step({}))
            return Status.WORKED
        arrivals = self._arrivals()
        if not arrivals:
            return Status.IDLE
        for group in groups:
            if not arrivals.keys().isdisjoint(group.pace.inlets):
                self._stop(group, group.step(arrivals))
        return Status.WORKED

    def _arrivals(self) -> dict[str, Arrival]:
        """What has come of each stream. A stream whose door meets an error stops the queries that read it."""
        arrivals: dict[str, Arrival] = {}
        for stream, inlet in self.inlets.items():
            try:
                arrival = inlet.take()
            except Exception as error:
                failure = failure_of(error, f"source of {stream}")
                for group in self.groups:
                    if stream in group.pace.inlets:
                        self._stop(group, dict.fromkeys(group.roots, failure))
            else:
                if arrival is not None:
                    arrivals[stream] = arrival
        return arrivals

    def _stop(self, group: Group, errors: Mapping[str, NilometerError]) -> None:
        for name, error in errors.items():
            self.failures[name] = Failure(error, group.ledger(name))
            group.remove(name)
