"""The inlet of a stream whose entries are pushed. They wait in a bounded queue and pass the door when the
graph runs.

A sensor proxy pushes its tuples in here (fjords.txt section 3.1.2). All queries with the same start share the
door and one copy of each tuple. When the queue is full, the stream's policy decides which rows are shed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

from nilometer.algebra.summary import READINGS
from nilometer.catalog.extents import Stream
from nilometer.dataflow.door import Door
from nilometer.dataflow.entry_queue import END, EntryQueue, StreamEnd
from nilometer.dataflow.policy import Policy
from nilometer.dataflow.pulled import BATCH_ROWS, empty_rows
from nilometer.dataflow.sources import Entry, Heartbeat, Summaries
from nilometer.operators.frames import evaluations
from nilometer.operators.logic import TICK


@dataclass(frozen=True)
class Arrival:
    """The accepted tuples and summaries of a stream, with the number of late readings and of rows shed since the
    last arrival. If the stream is divided, `ticks` are those of the tuples of all shares, where a window asks for them."""

    rows: pl.DataFrame
    late: int = 0
    shed: int = 0
    summaries: pl.DataFrame | None = None
    ticks: pl.DataFrame | None = None

    @property
    def accepted(self) -> int:
        """The number of accepted readings, those in summaries included."""
        return self.rows.height + (
            0 if self.summaries is None else int(self.summaries.get_column(READINGS).sum())
        )


@dataclass(frozen=True)
class Share:
    """Some of a stream's tuples, for a graph that answers for these alone: `rows` picks them out. The door sees all tuples.
    One of the graphs among which a stream is divided is the `first`, and counts the late ones."""

    rows: Callable[[pl.DataFrame], pl.DataFrame]
    first: bool


class PushedInlet:
    """Queues pushed entries in `entries`. `take` admits about BATCH_ROWS rows of them at a time. `tells`: a share is told
    the ticks of all tuples."""

    def __init__(self, stream: Stream, capacity: int, policy: Policy, share: Share | None = None) -> None:
        self.door = Door(stream)
        self._share = share
        self.tells = False
        self.entries: EntryQueue[Entry | StreamEnd] = EntryQueue(capacity, policy)
        self.ended = False
        self._shed = 0
        self._nothing = self.door.admit(empty_rows(stream))

    def agrees(self, other: PushedInlet) -> bool:
        """Whether both will admit the same tuples of the entries that come: they have seen all that came, and have the
        same watermark. Positions differ, but filters do not look at them."""
        return (
            not self.entries
            and not other.entries
            and self.ended == other.ended
            and self.door.watermark == other.door.watermark
            and self.door.stream == other.door.stream
            and self.entries.policy is other.entries.policy
        )

    def end(self) -> None:
        """Note that nothing more will be pushed."""
        self.entries.put(END)

    def take(self, most: int = BATCH_ROWS) -> Arrival | None:
        """The tuples that have arrived since the last call; None if no entry has. If fewer than BATCH_ROWS may come at
        once, a batch with more is divided."""
        late = self.door.ledger.late
        admitted: list[pl.DataFrame] = []
        summaries: list[pl.DataFrame] = []
        taken = False
        wanted = min(most, BATCH_ROWS)
        while wanted > 0 and (entry := self.entries.get()) is not None:
            taken = True
            match entry:
                case StreamEnd():
                    self.ended = True
                case Heartbeat(tick=tick):
                    self.door.heartbeat(tick)
                case Summaries():
                    summaries.append(self.door.admit_summaries(entry))
                    wanted -= max(1, entry.rows.height)
                case _:
                    if most < BATCH_ROWS and entry.rows.height > wanted:
                        rest = replace(entry, rows=entry.rows[wanted:], garbled=0, duplicate=0)
                        self.entries.put_back(rest)
                        entry = replace(entry, rows=entry.rows[:wanted])
                    rows = self.door.admit_batch(entry)
                    admitted.append(rows)
                    wanted -= max(1, entry.rows.height)
        if not taken:
            return None
        rows = pl.concat(admitted) if admitted else self._nothing
        shed = self.entries.counts.dropped - self._shed
        self._shed += shed
        late = self.door.ledger.late - late
        ticks = None
        if self._share is not None:
            ticks = evaluations(rows.get_column(TICK).unique().sort()) if self.tells else None
            rows, late = self._share.rows(rows), late if self._share.first else 0
        return Arrival(rows, late, shed, pl.concat(summaries) if summaries else None, ticks)

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The door's panes, and whether the stream has ended."""
        return self.door.snapshot() | {"ended": json.dumps(self.ended).encode()}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Go on from a snapshot."""
        self.door.restore(panes)
        self.ended = json.loads(panes["ended"])
