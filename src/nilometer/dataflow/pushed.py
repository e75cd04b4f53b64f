"""The inlet of a stream whose entries are pushed. They wait in a bounded queue and pass the door when the
graph runs.

A sensor proxy pushes its tuples in here (fjords.txt section 3.1.2). All queries with the same start share the
door and one copy of each tuple. When the queue is full, the stream's policy decides which rows are shed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.dataflow.door import Door
from nilometer.dataflow.entry_queue import END, EntryQueue, StreamEnd
from nilometer.dataflow.policy import Policy
from nilometer.dataflow.pulled import BATCH_ROWS, empty_rows
from nilometer.dataflow.sources import Entry, Heartbeat


@dataclass(frozen=True)
class Arrival:
    """The accepted tuples of a stream, with the number of late tuples and of rows shed since the last
    arrival."""

    rows: pl.DataFrame
    late: int = 0
    shed: int = 0


class PushedInlet:
    """Queues pushed entries in `entries`. `take` admits about BATCH_ROWS rows of them at a time."""

    def __init__(self, stream: Stream, capacity: int, policy: Policy) -> None:
        self.door = Door(stream)
        self.entries: EntryQueue[Entry | StreamEnd] = EntryQueue(capacity, policy)
        self.ended = False
        self._shed = 0
        self._nothing = self.door.admit(empty_rows(stream))

    def end(self) -> None:
        """Note that nothing more will be pushed."""
        self.entries.put(END)

    def take(self) -> Arrival | None:
        """The tuples that have arrived since the last call; None if no entry has."""
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
            return None
        rows = pl.concat(admitted) if admitted else self._nothing
        shed = self.entries.counts.dropped - self._shed
        self._shed += shed
        return Arrival(rows, self.door.ledger.late - late, shed)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The door's panes, and whether the stream has ended."""
        return self.door.snapshot() | {"ended": json.dumps(self.ended).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Go on from a snapshot."""
        self.door.restore(panes)
        self.ended = json.loads(panes["ended"])
