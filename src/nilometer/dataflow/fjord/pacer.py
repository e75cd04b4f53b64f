"""The arrivals of a query's streams -> its waves: which rows a round brings, and how far event time has come in it.

All queries with the same start and the same occurrences of streams have the same watermark at all times; they move in the
same waves, and only such queries can share a stateful part of their plans.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from nilometer.dataflow.fjord.messages import Arrival, Standing, Status, Wave
from nilometer.dataflow.fjord.module import Module
from nilometer.dataflow.fjord.queues import Queue
from nilometer.dataflow.sources import TableVersion
from nilometer.dataflow.stages import Round
from nilometer.dataflow.watermark import Leaf
from nilometer.types import INT_MAXIMUM, INT_MINIMUM


class Pacer(Module):
    """A wave for what has arrived, one at the start, in which stored tables are pulled, and one for each later version of them, before
    anything that arrives after it."""

    def __init__(
        self, leaves: frozenset[Leaf], inputs: Mapping[str, Queue[Arrival]], standings: Mapping[str, Standing]
    ) -> None:
        super().__init__(f"pacer of {', '.join(sorted(inputs)) or 'tables'}")
        self.inputs = inputs
        self.rounds = 0
        self.moved = False
        self._leaves = leaves
        self._standings = dict(standings)
        self._ended: set[str] = set()
        self._taken: dict[str, Arrival] = {}
        self._versions: deque[TableVersion] = deque()
        self._held_from = INT_MINIMUM

    @property
    def watermark(self) -> int:
        """Every tick below it is complete for these queries: the minimum over the occurrences of streams."""
        return min(
            (
                leaf.watermark(self._standings[leaf.stream], leaf.stream in self._ended)
                for leaf in self._leaves
            ),
            default=INT_MAXIMUM,
        )

    def refresh(self, version: TableVersion) -> None:
        """Tables were read anew. What a restored state has seen already is passed over; without a stream nothing has a tick to meet them."""
        if version.holds_from > self._held_from and self.inputs:
            self._held_from = version.holds_from
            self._versions.append(version)

    def _step(self) -> Status:
        if self._versions:
            self._give_version()
            return Status.WORKED
        for stream, queue in self.inputs.items():
            if stream not in self._taken and (arrival := queue.get()) is not None:
                self._taken[stream] = arrival
        if not self._taken and self.rounds:
            return Status.END if len(self._ended) == len(self.inputs) else Status.IDLE
        taken, self._taken = self._taken, {}
        for stream, arrival in taken.items():
            self._standings[stream] = arrival.standing
            if arrival.ended:
                self._ended.add(stream)
        admitted = {stream: arrival.rows for stream, arrival in taken.items() if arrival.rows.height}
        self._give(Round(admitted, self.watermark, self._first_ticks, first=self.rounds == 0), taken)
        return Status.WORKED

    @property
    def _first_ticks(self) -> dict[str, int]:
        return {
            stream: standing.first_tick
            for stream, standing in self._standings.items()
            if standing.first_tick is not None
        }

    def _give_version(self) -> None:
        if self.rounds == 0:
            self._give(Round({}, self.watermark, {}, first=True), {})
            return
        version = self._versions.popleft()
        self._give(
            Round({}, self.watermark, self._first_ticks, False, version.tables, version.holds_from), {}
        )

    def _give(self, now: Round, taken: Mapping[str, Arrival]) -> None:
        self.give(Wave(self.rounds, now, taken))
        self.rounds += 1
        self.moved = True

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The number of rounds, the streams that have ended, and which versions of tables came; where streams stand the doors know."""
        numbers: dict[str, Any] = {"rounds": self.rounds, "ended": sorted(self._ended)}
        if self._held_from > INT_MINIMUM:
            numbers["held_from"] = self._held_from
        return {"pacer": json.dumps(numbers).encode()}

    def restore(self, panes: dict[str, bytes], standings: Mapping[str, Standing]) -> None:
        """Go on where a snapshot was taken. Until it moves on, others of the same moment may join."""
        numbers = json.loads(panes["pacer"])
        self.rounds, self._ended = numbers["rounds"], set(numbers["ended"])
        self._held_from = numbers.get("held_from", INT_MINIMUM)
        self._standings = dict(standings)
