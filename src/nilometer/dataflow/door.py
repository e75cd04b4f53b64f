"""The door: turns one stream's readings, in log order, into accepted tuples, and keeps the books.

The door decides about each reading before any operator sees it (language.md, "Meaning"). A reading without a
time is garbled. A reading whose tick lies below the stream's watermark *before it* is late. The others are
accepted and get the columns `@tick`, `@time`, `@id` and `@position`. Duplicates by KEY do not come here: they
were removed where readings enter (ingest/manager/entrance.py, sources.py, log/doubles.py), and the door only
counts them. Nor do readings stamped more than FUTURE ahead of their arrival: the entrance quarantines them,
once. A FUTURE that is declared later changes nothing that is in the log, on any host.

The watermark is the greatest tick so far minus DELAY, or the tick of a heartbeat if that is greater. A late
tuple lies below the watermark and cannot raise it, so lateness is one cumulative maximum over the batch. A
late copy counts as a duplicate.

The laws: how the readings are cut into batches changes nothing; the state is a few numbers, and of a stream that is read live
the first time of each sensor.
"""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import polars as pl

from nilometer.algebra.summary import FROM, READINGS, WHOLE
from nilometer.catalog.extents import Stream
from nilometer.dataflow.ledger import Ledger
from nilometer.dataflow.sources import Batch, Summaries
from nilometer.operators.frames import Saved, dtype
from nilometer.operators.logic import ID, POSITION, TICK, TIME
from nilometer.types import INT_MINIMUM

NEVER = INT_MINIMUM
"""The watermark of a stream before its first reading or heartbeat: minus infinity."""


SENSORS = 100_000
"""Of so many sensors of a stream that is read live the door notes when they were first heard. It takes no summaries of
others: garbage may invent ids."""


class Door:
    """The door of one stream: its watermark, its ledger, and the greatest tick and time so far."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.ledger = Ledger()
        self.watermark = NEVER
        self.first_tick: int | None = None
        self.greatest_tick: int | None = None
        self.greatest_time: int | None = None
        self._position = 0
        self._firsts: pl.DataFrame | None = None
        self._saved = Saved()

    def heartbeat(self, tick: int) -> None:
        """Note a promise of the stream: from here on, no tuple has an earlier tick."""
        self.watermark = max(self.watermark, tick)

    def admit_batch(self, batch: Batch) -> pl.DataFrame:
        """The accepted readings of a batch."""
        return self.admit(batch.rows, garbled=batch.garbled, duplicate=batch.duplicate)

    def admit(self, rows: pl.DataFrame, *, garbled: int = 0, duplicate: int = 0) -> pl.DataFrame:
        """The accepted readings of a batch in log order.

        `garbled` is the number of further readings that a reader could not parse, `duplicate` the number of
        duplicates that it removed.
        """
        received = rows.height + garbled + duplicate
        time = self._column("time")
        if rows.get_column(time).null_count():
            rows = rows.filter(pl.col(time).is_not_null())
        garbled = received - duplicate - rows.height
        rows, late = self._split(self._tagged(rows))
        self._note(rows)
        if self.stream.url is not None:
            self._note_firsts(rows)
        self.ledger += Ledger(received, garbled, 0, duplicate, late.height, rows.height)
        return rows

    def admit_summaries(self, summaries: Summaries) -> pl.DataFrame:
        """The accepted summaries, in log order. Each is one tuple at its time, and counts as the readings that it
        stands for. One that its sensor began before the first reading that came through this door is not `@whole`:
        some of its readings are from before the start."""
        position = self._position
        rows, late = self._split(self._tagged(summaries.columns_of(self.stream)))
        self._position = position  # summaries have no place among the readings
        if self._firsts is None:
            whole = pl.Series(WHOLE, [False]).new_from_index(0, rows.height)
        else:
            first = rows.select(ID).join(self._firsts, on=ID, how="left", maintain_order="left")
            whole = (rows.get_column(FROM) >= first.get_column(TIME)).fill_null(False).alias(WHOLE)
        rows = rows.with_columns(whole)
        counts = [int(part.get_column(READINGS).sum()) for part in (late, rows)]
        self.ledger += Ledger(received=sum(counts), late=counts[0], accepted=counts[1])
        return rows

    def _column(self, name: str) -> str:
        column = self.stream.column(name)
        assert column is not None, f"a stream without {name}"
        return column.name

    def _tagged(self, rows: pl.DataFrame) -> pl.DataFrame:
        # Series by Series: most batches are small, and a lazy plan would cost more than the work itself.
        time = rows.get_column(self._column("time")).cast(pl.Int64)
        every = self.stream.every
        tick = time if every is None else pl.Series(time.to_numpy() // every * every, dtype=pl.Int64)
        source = rows.get_column(self._column("id")).cast(dtype(self.stream.id_type))
        positions = np.arange(self._position, self._position + rows.height, dtype=np.int64)
        self._position += rows.height
        system = [tick.alias(TICK), time.alias(TIME), source.alias(ID), pl.Series(POSITION, positions)]
        return pl.DataFrame([*system, *rows.get_columns()])

    def _split(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Split the rows into those in time and those that are late, and move the watermark."""
        if not rows.height:
            return rows, rows
        column = rows.get_column(TICK)
        if column[0] >= self.watermark and column.is_sorted():
            # The common case, a batch in order: no tuple is below the one before it, so none is late.
            self.watermark = max(self.watermark, int(column[-1]) - self.stream.delay)
            return rows, rows.clear()
        ticks: npt.NDArray[np.int64] = column.to_numpy()
        reached = np.maximum(np.maximum.accumulate(ticks) - self.stream.delay, self.watermark)
        before = np.concatenate(([self.watermark], reached[:-1]))
        self.watermark = int(reached[-1])
        late = ticks < before
        if not late.any():
            return rows, rows.clear()
        return rows.filter(pl.Series(~late)), rows.filter(pl.Series(late))

    def _note(self, rows: pl.DataFrame) -> None:
        if not rows.height:
            return
        if self.first_tick is None:
            self.first_tick = rows[TICK][0]
        # Not as NumPy arrays: that would copy a column of several chunks. No NULL is left: a maximum exists.
        tick, time = (int(rows.get_column(name).max()) for name in (TICK, TIME))  # type: ignore[arg-type]
        self.greatest_tick = max(tick, self.greatest_tick if self.greatest_tick is not None else tick)
        self.greatest_time = max(time, self.greatest_time if self.greatest_time is not None else time)

    def _note_firsts(self, rows: pl.DataFrame) -> None:
        """Note when each sensor was first heard through this door, for summaries."""
        if self._firsts is not None:
            if self._firsts.height >= SENSORS:
                return
            new = rows.get_column(ID).unique()
            new = new.filter(~new.is_in(self._firsts.get_column(ID).implode()))
            if not len(new):
                return
            rows = rows.filter(pl.col(ID).is_in(new.implode()))
        firsts = rows.select(ID, TIME).drop_nulls().unique(ID, keep="first", maintain_order=True)
        self._firsts = firsts if self._firsts is None else pl.concat([self._firsts, firsts])

    # ---- state -------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, bytes]:
        """The whole state, as panes."""
        numbers = {
            "ledger": self.ledger.as_dict(),
            "watermark": self.watermark,
            "first_tick": self.first_tick,
            "greatest_tick": self.greatest_tick,
            "greatest_time": self.greatest_time,
            "position": self._position,
        }
        panes = {"numbers": json.dumps(numbers).encode()}
        return panes if self._firsts is None else panes | {"firsts": self._saved(self._firsts)}

    def restore(self, panes: dict[str, bytes]) -> None:
        """Restore what `snapshot` returned, into a new door of the same stream. Snapshots of older programs
        also hold keys, which are ignored."""
        numbers = json.loads(panes["numbers"])
        self.ledger = Ledger(**numbers["ledger"])
        self.watermark = numbers["watermark"]
        self.first_tick = numbers["first_tick"]
        self.greatest_tick = numbers["greatest_tick"]
        self.greatest_time = numbers["greatest_time"]
        self._position = numbers["position"]
        self._firsts = self._saved.load(panes["firsts"]) if "firsts" in panes else None
