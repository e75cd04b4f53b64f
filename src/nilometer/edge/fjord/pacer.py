"""The arrivals of a query's streams -> its waves: which rows a round brings, and how far event time has come in it.

All queries with the same start and the same occurrences of streams have the same watermark at all times; they move in the
same waves, and only such queries can share a stateful part of their plans.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from nilometer.edge.fjord.messages import Arrival, Standing, Status, Wave
from nilometer.edge.fjord.module import Module
from nilometer.edge.fjord.queues import Queue
from nilometer.edge.gateway.ends import Leaf
from nilometer.edge.gateway.stages import Round
from nilometer.types import INT_MAXIMUM


class Pacer(Module):
    """A wave for what has arrived, and one at the start, in which stored tables are pulled."""

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

    def _step(self) -> Status:
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
        first_ticks = {
            stream: standing.first_tick
            for stream, standing in self._standings.items()
            if standing.first_tick is not None
        }
        now = Round(admitted, self.watermark, first_ticks, first=self.rounds == 0)
        self.give(Wave(self.rounds, now, taken))
        self.rounds += 1
        self.moved = True
        return Status.WORKED

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The number of rounds and the streams that have ended; where they stand the doors know."""
        return {"pacer": json.dumps({"rounds": self.rounds, "ended": sorted(self._ended)}).encode()}

    def restore(self, panes: dict[str, bytes], standings: Mapping[str, Standing]) -> None:
        """Go on where a snapshot was taken. Until it moves on, others of the same moment may join."""
        numbers = json.loads(panes["pacer"])
        self.rounds, self._ended = numbers["rounds"], set(numbers["ended"])
        self._standings = dict(standings)
