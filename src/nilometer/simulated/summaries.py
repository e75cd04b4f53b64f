"""The summaries that simulated sensors have begun, as columns: one entry per sensor, and no loop over readings.

Sums are kept in two doubles (Knuth's TwoSum), as the gateway keeps them, so that they are rounded once.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from nilometer.algebra.summary import FROM, OF, PARTS, READINGS
from nilometer.ingest.adapters.adapter import Aggregation
from nilometer.kernels.arrays import Booleans, Floats, Integers
from nilometer.types import Column, Kind

NONE = -1


class Summaries:
    """The state of `count` sensors: what they were told to summarise (`told` numbers `kinds`; NONE: nothing), and the
    readings that wait."""

    def __init__(self, count: int, columns: tuple[Column, ...]) -> None:
        self._columns = [
            c for c in columns if c.type.kind in (Kind.INT, Kind.FLOAT) and c.name.lower() != "id"
        ]
        self.kinds: list[Aggregation] = []
        self.told: Integers = np.full(count, NONE)
        self.begun: Integers = np.zeros(count, np.int64)
        self.readings: Integers = np.zeros(count, np.int64)
        self.ends: Integers = np.zeros(count, np.int64)
        self._parts: dict[str, Floats] = {
            f"{c.name}#{part}": np.zeros(count) for c in self._columns for part in PARTS
        }
        self.sent = 0

    def tell(self, place: int, aggregation: Aggregation | None, now: int) -> None:
        """A sensor obeys a command. The summary that it has begun must have been flushed."""
        if aggregation is None:
            self.told[place] = NONE
            return
        if aggregation not in self.kinds:
            self.kinds.append(aggregation)
        self.told[place] = self.kinds.index(aggregation)
        self.begun[place] = now

    def pane_ends(self, place: Integers, time: Integers) -> Integers:
        """The ends of the panes to which readings of these sensors belong."""
        ends = np.zeros(len(place), np.int64)
        for number, kind in enumerate(self.kinds):
            rows = self.told[place] == number
            ticks = time[rows] if kind.grid is None else time[rows] // kind.grid * kind.grid
            ends[rows] = -(-ticks // kind.every) * kind.every
        return ends

    def add(self, place: Integers, ends: Integers, frame: pl.DataFrame) -> None:
        """Add readings, at most one of each sensor, to panes that end then."""
        new = self.readings[place] == 0
        every = np.array([self.kinds[number].every for number in self.told[place].tolist()], np.int64)
        self.begun[place] = np.where(new, np.maximum(self.begun[place], ends - every), self.begun[place])
        self.ends[place] = ends
        for column in self._columns:
            found = frame.get_column(column.name)
            known = found.is_not_null().to_numpy()
            at, values = place[known], found.drop_nulls().cast(pl.Float64).to_numpy()
            parts = {part: self._parts[f"{column.name}#{part}"] for part in PARTS}
            first = parts["count"][at] == 0
            parts["count"][at] += 1
            total, low = parts["sum"][at], parts["low"][at]
            whole = total + values
            back = whole - total
            parts["low"][at] = low + ((total - (whole - back)) + (values - back))
            parts["sum"][at] = whole
            parts["min"][at] = np.where(first, values, np.minimum(parts["min"][at], values))
            parts["max"][at] = np.where(first, values, np.maximum(parts["max"][at], values))
        self.readings[place] += 1

    def close(self, which: Booleans, time: Integers | int) -> pl.DataFrame | None:
        """Send the summaries that these sensors have begun, stamped with these times; None if there are none."""
        places = np.flatnonzero(which & (self.readings > 0))
        if not len(places):
            return None
        stamps = np.broadcast_to(np.asarray(time, np.int64), self.told.shape)[places]
        data: dict[str, pl.Series] = {
            "time": pl.Series(stamps),
            "id": pl.Series(places + 1),
            FROM: pl.Series(self.begun[places]),
            OF: pl.Series([self.kinds[n].of for n in self.told[places].tolist()], dtype=pl.String),
            READINGS: pl.Series(self.readings[places]),
        }
        for column in self._columns:
            whole = column.type.kind is Kind.INT
            some = pl.Series(self._parts[f"{column.name}#count"][places] > 0)
            for part in PARTS:
                values = pl.Series(self._parts[f"{column.name}#{part}"][places])
                if part == "count" or (whole and part != "low"):
                    values = values.cast(pl.Int64)
                if part in ("min", "max"):
                    values = pl.select(pl.when(some).then(values)).to_series()
                data[f"{column.name}#{part}"] = values
        self.sent += len(places)
        self.forget(places)
        self.begun[places] = stamps
        return pl.DataFrame(data)

    def forget(self, places: Integers) -> None:
        """Lose what the sensors have begun, with a battery."""
        self.readings[places] = 0
        for array in self._parts.values():
            array[places] = 0.0
