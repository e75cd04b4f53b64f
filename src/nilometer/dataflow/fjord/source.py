"""A stream's entries, pushed -> arrivals: one door for all queries with the same start, one copy of each tuple.

This is where a sensor proxy pushes its tuples in (fjords.txt section 3.1.2); when nobody schedules the Fjord they wait here,
in a bounded queue, and by the stream's policy some are shed.
"""

from __future__ import annotations

import json

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.dataflow.door import Door
from nilometer.dataflow.fjord.messages import Arrival, Standing, Status, StreamEnd
from nilometer.dataflow.fjord.module import Module
from nilometer.dataflow.fjord.queues import PushQueue
from nilometer.dataflow.inlet import empty_rows
from nilometer.dataflow.policy import Policy
from nilometer.dataflow.run import BATCH_ROWS
from nilometer.dataflow.sources import Entry, Heartbeat


class Source(Module):
    """Entries wait in `entries`; a transition admits those that wait, of about BATCH_ROWS rows."""

    def __init__(self, stream: Stream, capacity: int, policy: Policy) -> None:
        super().__init__(f"source of {stream.name}")
        self.door = Door(stream)
        self.entries: PushQueue[Entry | StreamEnd] = PushQueue(capacity, policy)
        self.ended = False
        self.shed = 0
        self._nothing = self.door.admit(empty_rows(stream))

    def _step(self) -> Status:
        late = self.door.ledger.late
        admitted: list[pl.DataFrame] = []
        taken = False
        wanted = BATCH_ROWS
        while wanted > 0 and (entry := self.entries.get()) is not None:
            taken = True
            match entry:
                case StreamEnd():
                    self.ended = True
                case Heartbeat(tick=tick):
                    self.door.heartbeat(tick)
                case _:
                    rows = self.door.admit_batch(entry)
                    admitted.append(rows)
                    wanted -= max(1, entry.rows.height)
        if not taken:
            return Status.END if self.ended else Status.IDLE
        rows = pl.concat(admitted) if admitted else self._nothing
        shed = self.entries.counts.dropped - self.shed
        self.shed += shed
        self.give(Arrival(rows, Standing.of(self.door), self.door.ledger.late - late, shed, self.ended))
        return Status.WORKED

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The door's panes, and whether the stream has ended."""
        return self.door.snapshot() | {"ended": json.dumps(self.ended).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Go on where a snapshot was taken."""
        self.door.restore(panes)
        self.ended = json.loads(panes["ended"])
