"""The zipper join of fjords.txt Fig. 4 as a module of a Fjord built by hand: two queues in, joined frames out.

It checks its inputs in turn, once a transition, and cannot tell whether they are pushed into or pulled; what has come is
joined as far as both streams have promised to be complete. No planner and no waves: its time is the lesser of the two.
"""

from __future__ import annotations

from nilometer.dataflow.fjord.messages import Arrival, Status
from nilometer.dataflow.fjord.module import Module
from nilometer.dataflow.fjord.queues import Queue
from nilometer.operators.logic import Progress, no_evaluations
from nilometer.operators.zipper_join import ZipperJoin
from nilometer.types import INT_MAXIMUM, INT_MINIMUM


class ZipperModule(Module):
    """Arrivals of two streams, as a `Source` gives them -> frames of pairs. A stream that has ended holds nothing up."""

    def __init__(self, join: ZipperJoin, left: Queue[Arrival], right: Queue[Arrival]) -> None:
        super().__init__("ZIPPER_JOIN")
        self._logic = join.build()
        self._inputs = (left, right)
        self._watermarks = [INT_MINIMUM, INT_MINIMUM]

    def _step(self) -> Status:
        taken = False
        for port, queue in enumerate(self._inputs):
            arrival = queue.get()
            if arrival is not None:
                taken = True
                self._logic.update(port, arrival.rows)
                self._watermarks[port] = INT_MAXIMUM if arrival.ended else arrival.standing.watermark
        if not taken:
            return Status.END if all(queue.ended for queue in self._inputs) else Status.IDLE
        progress = Progress(min(self._watermarks), None, (no_evaluations(),) * 2)
        rows = self._logic.advance(progress).rows
        if rows.height:
            self.give(rows)
        return Status.WORKED
