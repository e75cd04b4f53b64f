"""A start: the moment from which some queries see their streams, with their inlets and their groups.

One `step` takes the entries that have arrived and moves every group by one round. It never waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nilometer.dataflow.failures import Caught, failure_of
from nilometer.dataflow.group import Group
from nilometer.dataflow.ledger import QueryLedger
from nilometer.dataflow.pulled import BATCH_ROWS
from nilometer.dataflow.pushed import Arrival, PushedInlet
from nilometer.dataflow.schedulers import Status
from nilometer.dataflow.watermark import Leaf
from nilometer.errors import NilometerError


@dataclass(frozen=True)
class Failure:
    """The error that stopped a query, and the query's accounts at that moment."""

    error: NilometerError
    ledger: QueryLedger


class Start:
    """The inlets and groups of the queries with one start.

    `moved` is True once an entry has come: a query that is installed later would miss it, so it gets a start
    of its own. `restored` identifies the snapshot from which the queries went on, so that queries at
    different moments do not share a start. `failures` holds the queries that an error stopped, by name.
    """

    def __init__(self, key: object, restored: bytes = b"") -> None:
        self.key = key
        self.restored = restored
        self.inlets: dict[str, PushedInlet] = {}
        self.groups: list[Group] = []
        self.moved = False
        self.failures: dict[str, Failure] = {}

    def of(self, leaves: frozenset[Leaf]) -> Group | None:
        """A group that reads these occurrences of streams."""
        return next((group for group in self.groups if group.roots and group.pace.leaves == leaves), None)

    def agrees(self, other: Start) -> bool:
        """Whether the doors of both will decide alike about every tuple that comes."""
        return all(
            (own := self.inlets.get(stream)) is not None and own.agrees(inlet)
            for stream, inlet in other.inlets.items()
        )

    def step(self) -> Status:
        """Run one round of every group that has work to do, if all answers have room."""
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
        """Take what has arrived of each stream. If a stream's door meets an error, the queries that read the
        stream stop."""
        arrivals: dict[str, Arrival] = {}
        most = min((group.round_rows for group in self.groups), default=BATCH_ROWS)
        for stream, inlet in self.inlets.items():
            try:
                arrival = inlet.take(most)
            except Caught as error:
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
