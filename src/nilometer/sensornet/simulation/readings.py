"""The motes' readings: a stream, some sites and some ticks -> their readings.

`SyntheticReadings` generates them from a seed; `RecordedReadings` takes them from a log. Readings have the
stream's columns. Their time is the tick, because a mote reads its sensors when the agenda says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from zlib import crc32

import numpy as np
import polars as pl

from nilometer.catalog.extents import Stream
from nilometer.catalog.network import NodeId
from nilometer.kernels.arrays import Integers
from nilometer.operators.frames import conform, dtype
from nilometer.sensornet.simulation.draws import uniform
from nilometer.types import DAY, Column, Kind


class Readings(Protocol):
    """A source of readings."""

    def read(self, stream: Stream, sites: Sequence[NodeId], ticks: Integers) -> pl.DataFrame:
        """The readings of these sites at these ticks, by tick and then in the order of the sites."""


@dataclass(frozen=True)
class SyntheticReadings:
    """Generated readings. Whole numbers are 0 ... `levels` - 1, all equally likely. Other numbers rise and
    fall once a day, by site, with some noise."""

    seed: int = 0
    levels: int = 10

    def read(self, stream: Stream, sites: Sequence[NodeId], ticks: Integers) -> pl.DataFrame:
        """The readings of these sites at these ticks."""
        names = np.array([crc32(str(site).encode()) for site in sites], dtype=np.int64)
        times = np.repeat(ticks, len(sites))
        sources = np.tile(names, len(ticks))
        columns: list[pl.Series] = []
        for column in stream.columns:
            if column.name.lower() == "time":
                columns.append(pl.Series(column.name, times))
            elif column.name.lower() == "id":
                ids = pl.Series(column.name, sites, dtype=dtype(stream.id_type))
                columns.append(pl.concat([ids] * len(ticks)) if len(ticks) else ids.clear())
            else:
                columns.append(self._values(stream, column, times, sources))
        return pl.DataFrame(columns)

    def _values(self, stream: Stream, column: Column, times: Integers, sources: Integers) -> pl.Series:
        name = crc32(f"{stream.name.lower()}.{column.name.lower()}".encode())
        drawn = uniform(self.seed, np.full(len(times), name, dtype=np.int64), sources, times)
        match column.type.kind:
            case Kind.BOOLEAN:
                return pl.Series(column.name, drawn < 0.5)
            case Kind.FLOAT:
                phase = (times % DAY) / DAY * 2 * np.pi
                value = 10 + 5 * np.sin(phase + sources % 7) + drawn
                return pl.Series(column.name, np.round(value, 3))
            case Kind.STRING:
                return pl.Series(column.name, (drawn * self.levels).astype(np.int64)).cast(pl.String())
            case _:
                return pl.Series(column.name, (drawn * self.levels).astype(np.int64)).cast(dtype(column.type))


@dataclass(frozen=True)
class RecordedReadings:
    """The readings of logs, by the stream's lower-case name. A mote senses once at each tick: it gets the
    first reading from there to the next tick, whatever the recorded interval, or nothing if there is none."""

    logs: dict[str, pl.DataFrame]

    def read(self, stream: Stream, sites: Sequence[NodeId], ticks: Integers) -> pl.DataFrame:
        """The readings of these sites at these ticks."""
        wanted = {column.name: dtype(column.type) for column in stream.columns}
        log = self.logs.get(stream.name.lower())
        if log is None or not len(ticks):
            return pl.DataFrame(schema=wanted)
        names = {column.name.lower(): column.name for column in stream.columns}
        every = stream.every or 1
        time, first = pl.col(names["time"]), int(ticks[0])
        at = (time - first) // every * every + first
        known = pl.DataFrame(
            {
                names["id"]: pl.Series(sites, dtype=dtype(stream.id_type)),
                "@rank": np.arange(len(sites), dtype=np.int64),
            }
        )
        near = log.filter(at.is_in(pl.Series(ticks).implode())).sort(time, maintain_order=True)
        found = near.with_columns(at).unique([names["id"], names["time"]], keep="first", maintain_order=True)
        ordered = found.join(known, on=names["id"], how="inner").sort(names["time"], "@rank")
        return conform(ordered, wanted)
